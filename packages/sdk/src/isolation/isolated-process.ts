import { parentPort } from "node:worker_threads";
import { branchName } from "../handlers/branch.ts";
import { AttemptAborted, type TaskContext } from "../handlers/context.ts";
import { handlerSleep } from "../handlers/handler-sleep.ts";
import { endingOfReturn, endingOfThrow, terminal } from "../handlers/outcome.ts";
import { SpawnedNodes } from "../handlers/spawn.ts";
import type { Ending } from "../session/work.ts";
import { systemRuntime } from "../system-runtime.ts";
import { withinTrace } from "../tracing.ts";
import { IsolatedSteps } from "./isolated-steps.ts";
import type { AttemptFacts, FromIsolated, ToIsolated } from "./isolation-messages.ts";

const runtime = systemRuntime(true);

/**
 * Entry of the process or thread of an isolated handler: runs one attempt and reports its outcome. The parent then
 * kills the process or thread, as it does when the attempt does not end in time.
 */
function main(): void {
  const abort = new AbortController();
  let fence = "";
  let steps: IsolatedSteps | null = null;
  receive((message) => {
    if (message.kind === "ABORT") return abort.abort(new AttemptAborted(fence, message.cause));
    if (message.kind !== "RUN") return steps?.hear(message);
    const { facts, lastCheckpoint } = message;
    fence = facts.fence;
    const own = new IsolatedSteps(facts, lastCheckpoint, abort.signal, runtime, tell);
    steps = own;
    void run(message, contextOf(facts, abort.signal, own)).then((ending) => {
      own.finish();
      tell({ kind: "ENDED", ending });
    });
  });
}

async function run(
  { module, exportName, payload }: Extract<ToIsolated, { kind: "RUN" }>,
  ctx: TaskContext,
): Promise<Ending> {
  let handler: unknown;
  try {
    handler = ((await import(module)) as Record<string, unknown>)[exportName];
  } catch (error) {
    return terminal("HandlerNotLoaded", `${module} cannot be loaded: ${(error as Error).message}`);
  }
  if (typeof handler !== "function") return terminal("HandlerNotLoaded", `${module} exports no function ${exportName}`);
  try {
    return endingOfReturn(await withinTrace(ctx.traceparent, () => handler(payload, ctx)), null);
  } catch (error) {
    // Only the parent knows the reason of the abort.
    return endingOfThrow(error, null);
  }
}

function contextOf(facts: AttemptFacts, signal: AbortSignal, { step, checkpoint }: IsolatedSteps): TaskContext {
  // Only the parent knows whether the attempt runs a node.
  const spawned = new SpawnedNodes(true);
  return {
    ...facts,
    signal,
    step,
    checkpoint,
    sleep: (delayMs) => handlerSleep(runtime, delayMs, signal),
    progress: (fraction, message) => tell({ kind: "PROGRESS", fraction, message }),
    log: (line) => tell({ kind: "LOG", line }),
    branch: (name) => tell({ kind: "BRANCH", name: branchName(name) }),
    spawn: (nodes, options) => tell({ kind: "SPAWN", nodes: spawned.add(nodes, options) }),
  };
}

function tell(message: FromIsolated): void {
  const port = parentPort;
  if (port !== null) port.postMessage(message);
  // If the message cannot be sent, the parent is gone and does not wait for it.
  else process.send?.(message, () => undefined);
}

function receive(hear: (message: ToIsolated) => void): void {
  if (parentPort !== null) {
    parentPort.on("message", hear);
    return;
  }
  process.on("message", (message) => hear(message as ToIsolated));
  // The worker has died, so nobody takes the result, and another attempt may begin. 0 names the process group: this
  // process and all that it started.
  process.on("disconnect", () => process.kill(process.platform === "win32" ? process.pid : 0, "SIGKILL"));
}

main();
