import { spawn } from "node:child_process";
import { createConnection, createServer } from "node:net";
import { AttemptAborted, RetryAtError, StepError, type TaskContext, TerminalError } from "../src/index.ts";

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

/** Names these branches, and gives the errors of those that it may not name. */
export function takeBranches(names: string[], ctx: TaskContext): string[] {
  return names.flatMap((name) => {
    try {
      ctx.branch(name);
      return [];
    } catch (error) {
      return `${(error as Error).name} ${error instanceof TerminalError}`;
    }
  });
}

export function takeBranch(name: string, ctx: TaskContext): void {
  ctx.branch(name);
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

/** Uses steps that earlier attempts recorded, and new ones. */
export async function useSteps(_: null, ctx: TaskContext): Promise<unknown> {
  const before = ctx.checkpoint.last;
  const old = await ctx.step.run("old", () => "called anew");
  const fresh = await ctx.step.run(["new", 1], () => ({ at: new Date(0), no: undefined }));
  const none = await ctx.step.run("none", () => undefined);
  await ctx.checkpoint({ row: 2 });
  return { before, last: ctx.checkpoint.last, old, fresh, hasNone: none === undefined, key: ctx.step.key(["new", 1]) };
}

/** Gives the names of the errors of bad steps, and whether a step's own error comes back as it was. */
export async function useStepsBadly(_: null, { step, checkpoint }: TaskContext): Promise<unknown> {
  const own = new RangeError("own");
  let calls = 0;
  const fail = () => {
    calls++;
    throw own;
  };
  const nameOf = (promise: Promise<unknown>) =>
    promise.then(
      () => "none",
      (error: Error) => (error === own ? "own" : `${error.name} ${error instanceof StepError}`),
    );
  const names = {
    retried: await nameOf(step.run("fails", fail, { retries: 1 })),
    duplicate: await nameOf(step.run("fails", () => 1)),
    big: await nameOf(step.run("big", () => "x".repeat(300_000))),
    bigint: await nameOf(step.run("bigint", () => 1n)),
    name: await nameOf(step.run("", () => 1)),
    checkpoint: await nameOf(checkpoint(1n)),
  };
  return { ...names, calls };
}

/** Says how many rows it has read, and waits for no answer. */
export function checkpointOften(rows: number, ctx: TaskContext): string {
  for (let row = 1; row <= rows; row++) void ctx.checkpoint({ row });
  return "read";
}

/** Waits in every way beside steps that follow each other, and says what it was told. */
export async function waitForAll(_: null, { step, signal, log }: TaskContext): Promise<unknown> {
  const chain = async () => {
    for (const n of [1, 2, 3]) await step.run(["chain", n], () => n);
    await step.run("fails", () => Promise.reject(new Error("no"))).catch(() => step.run("instead", () => 1));
    await step.run("clock", () => "moves");
    return await step.sleep("short", 20);
  };
  try {
    const got = await step.waitForSignal("known");
    await step.sleep("over", { days: 1 });
    const pending = [
      step.sleep("long", { days: 1 }),
      step.waitForSignal(["a", "b"], { timeoutMs: 86_400_000, name: "both" }),
    ];
    await Promise.all([...pending, chain()]);
    return got;
  } catch (error) {
    const reason = error instanceof AttemptAborted ? error.reason : String(error);
    log(`${reason} ${signal.aborted} ${(signal.reason as AttemptAborted).reason}`);
    const late = await step.run("late", () => 1).catch((thrown: AttemptAborted) => thrown.reason);
    log(String(late));
    throw error;
  }
}

/** Gives the names of the errors of bad waits. */
export async function waitBadly(_: null, { step }: TaskContext): Promise<unknown> {
  const nameOf = (promise: Promise<unknown>) =>
    promise.then(
      () => "none",
      (error: Error) => `${error.name} ${error instanceof StepError}`,
    );
  return [
    await nameOf(step.sleep("a", Number.NaN)),
    await nameOf(step.sleep("b", 0)),
    await nameOf(step.sleepUntil("b", new Date(0))),
    await nameOf(step.waitForSignal([])),
    await nameOf(step.waitForSignal("x", { name: "" })),
  ];
}

/** Waits, and does not end when it is told to. */
export async function waitStubbornly(_: null, { step }: TaskContext): Promise<unknown> {
  await step.run("clock", () => "moves");
  return await step.sleep("a", { days: 1 }).catch(() => new Promise(() => undefined));
}

/** Gives the reason for which a step is rejected. */
export async function useStepTooLate(_: null, { step, checkpoint }: TaskContext): Promise<unknown> {
  const reasonOf = (promise: Promise<unknown>) =>
    promise.then(
      () => "none",
      (error) => (error instanceof AttemptAborted ? `${error.reason} ${error.message}` : String(error)),
    );
  return [await reasonOf(step.run("late", () => 1)), await reasonOf(checkpoint(1))];
}
