import { spawn } from "node:child_process";
import { createConnection, createServer } from "node:net";
import { RetryAtError, type TaskContext, TerminalError } from "../src/index.ts";

/** Handlers for processes and threads of their own. */

export default (payload: { n: number }, ctx: TaskContext) => ({ twice: 2 * payload.n, attempt: ctx.attempt });

export async function talk(_: null, ctx: TaskContext): Promise<void> {
  ctx.progress(0.5, "half");
  await ctx.sleep(1);
  ctx.progress(0.75);
  ctx.log(`${ctx.fence} until ${ctx.deadline.toISOString()}, ${ctx.cancelGraceMs} ms to stop`);
}

export function fail(kind: string): never {
  if (kind === "terminal") throw new TerminalError("never again");
  if (kind === "at") throw new RetryAtError(5_000, "later");
  throw new RangeError("out of range");
}

export const returnCycle = () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  return cycle;
};

export function exit(code: number): void {
  process.exit(code);
}

/** A handle that it leaves open would keep its process alive for ever. */
export function leaveServer(): string {
  createServer().listen(0, "127.0.0.1");
  return "done";
}

/** Ends when it is told to. */
export function listen(_: null, ctx: TaskContext): Promise<never> {
  ctx.log("running");
  return new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
}

/** Does not end when it is told to. */
export function ignore(_: null, ctx: TaskContext): Promise<never> {
  ctx.log("running");
  ctx.signal.addEventListener("abort", () => ctx.log("heard"));
  return new Promise(() => undefined);
}

/** Does not even hear that it is told to. */
export function block(_: null, ctx: TaskContext): never {
  ctx.log("running");
  for (;;);
}

/** Has a program that connects to the port and stays. */
export function startProgram(port: number): Promise<never> {
  spawn(process.execPath, ["-e", `require("node:net").connect(${port}, "127.0.0.1")`], { stdio: "ignore" });
  return new Promise(() => createConnection(port, "127.0.0.1"));
}
