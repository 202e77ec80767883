import { createWorkerCore, type Task, type TaskContext, task, type WorkerLink } from "@mainspring/sdk/worker-core";
import type { History, SeenDefinition } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";

/** What a job asks of its handler. */
export interface Work {
  /** How long it runs. */
  runMs: number;
  /** Attempts that fail before one succeeds, counted by failures. */
  failTimes: number;
  /** Goes on when it is told to stop. */
  stubborn: boolean;
  /** The definition that it is a part of, as its client wrote it. */
  definition: SeenDefinition;
}

export const HANDLERS = ["plain", "gpu-only"] as const;

export interface WorkerShape {
  slots: number;
  prefetch: number;
  capabilities: string[];
}

/** A worker process: the SDK's session and executor over a simulated link, with handlers that do what their jobs ask. */
export function startWorker(process: SimProcess, shape: WorkerShape, link: WorkerLink, history: History): void {
  const runtime = process.runtime();
  const tasks = HANDLERS.map((name) => simTask(name, process, history));
  const worker = createWorkerCore(
    { workerId: process.name, name: process.name, pool: "default", ...shape, tasks, runtime, warn: () => undefined },
    link,
  );
  void worker.start().catch(() => undefined);
}

function simTask(name: string, process: SimProcess, history: History): Task<never, unknown> {
  return task({
    name,
    run: (work: Work, ctx: TaskContext) => {
      const { executionId, attempt } = ctx;
      const who = { executionId, attempt, worker: process.name };
      const { maxAttempts } = ctx;
      history.add({ kind: "HANDLER_STARTED", ...who, ran: { handler: name, maxAttempts }, asked: work.definition });
      return new Promise((resolve, reject) => {
        const end = (as: string, settle: () => void) => {
          cancel();
          history.add({ kind: "HANDLER_ENDED", ...who, as });
          settle();
        };
        const finish = () => {
          if (ctx.failures < work.failTimes) end("FAILED", () => reject(new Error("as asked")));
          else end("SUCCEEDED", () => resolve(attempt));
        };
        const cancel = process.plan(work.runMs, finish);
        if (work.stubborn) return;
        ctx.signal.addEventListener("abort", () => end("ABORTED", () => reject(ctx.signal.reason)));
      });
    },
  }) as Task<never, unknown>;
}
