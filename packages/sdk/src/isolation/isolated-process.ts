import { parentPort } from "node:worker_threads";
import { type AbortCause, AttemptAborted, type TaskContext } from "./context.ts";
import { handlerSleep } from "./handler-sleep.ts";
import type { AttemptFacts, FromIsolated, ToIsolated } from "./isolation-messages.ts";
import { endingOfReturn, endingOfThrow, terminal } from "./outcome.ts";
import { systemRuntime } from "./system-runtime.ts";
import type { Ending } from "./work.ts";

const runtime = systemRuntime(true);

/**
 * Entry of the process or thread of an isolated handler: runs one attempt and reports its end. It is then ended from
 * outside, as it is when it does not end in time.
 */
function main(): void {
  const abort = new AbortController();
  let fence = "";
  receive((message) => {
    if (message.kind === "ABORT") return abort.abort(new AttemptAborted(fence, message.cause satisfies AbortCause));
    fence = message.facts.fence;
    void run(message, contextOf(message.facts, abort.signal)).then((ending) => tell({ kind: "ENDED", ending }));
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
    return endingOfReturn(await handler(payload, ctx), null);
  } catch (error) {
    // The parent knows the reason of the abort.
    return endingOfThrow(error, null);
  }
}

function contextOf(facts: AttemptFacts, signal: AbortSignal): TaskContext {
  return {
    ...facts,
    signal,
    sleep: (delayMs) => handlerSleep(runtime, delayMs, signal),
    progress: (fraction, message) => tell({ kind: "PROGRESS", fraction, message }),
    log: (line) => tell({ kind: "LOG", line }),
  };
}

function tell(message: FromIsolated): void {
  const port = parentPort;
  if (port !== null) port.postMessage(message);
  // Nobody to tell is nobody who waits.
  else process.send?.(message, () => undefined);
}

function receive(hear: (message: ToIsolated) => void): void {
  if (parentPort !== null) {
    parentPort.on("message", hear);
    return;
  }
  process.on("message", (message) => hear(message as ToIsolated));
  // The worker has died: nobody will take the result, and another attempt may begin. 0 is the process group, which is
  // this process and what it started.
  process.on("disconnect", () => process.kill(process.platform === "win32" ? process.pid : 0, "SIGKILL"));
}

main();
