import type { TaskContext } from "@mainspring/sdk";

/** Handler for a test of isolated handlers. */
export default ({ n }: { n: number }) => 2 * n;

/** Records steps beside a wait for a signal. */
export async function waits(_: null, { step }: TaskContext): Promise<string> {
  const chain = async () => [await step.run("one", () => 1), await step.run("two", () => 2)];
  const [numbers, signal] = await Promise.all([chain(), step.waitForSignal<number>("go")]);
  return [...numbers, signal?.data].join(" ");
}
