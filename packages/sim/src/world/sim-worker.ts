import { createWorkerCore, type Task, type TaskContext, task, type WorkerLink } from "@mainspring/sdk/worker-core";
import type { History, SeenDefinition } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";

/** Behaviour that a job asks of its handler. */
export interface Work {
  /** How long it runs. */
  runMs: number;
  /** Attempts that fail before one succeeds, counted by failures. */
  failTimes: number;
  /** For how long it blocks the loop that it shares with the other handlers; 0: not at all. */
  blockMs: number;
  /** Goes on when it is told to stop. */
  stubborn: boolean;
  /** Never ends, whatever it is told. */
  hangs: boolean;
  /** Its result is one that the store refuses. */
  isPoison: boolean;
  /** The definition that it is a part of, as its client wrote it. */
  definition: SeenDefinition;
}

/** A result that the store will not hold. */
export const POISON = "poison";

export const HANDLERS = ["plain", "gpu-only"] as const;

export interface WorkerShape {
  slots: number;
  prefetch: number;
  capabilities: string[];
}

export interface WorkerEvents {
  history: History;
  /** A handler has begun that will never end. */
  hangs(): void;
}

/** A worker process: the SDK's session and executor over a simulated link, with handlers that do what their jobs ask. */
export function startWorker(
  process: SimProcess,
  shape: WorkerShape,
  link: WorkerLink,
  { history, hangs }: WorkerEvents,
): void {
  // As in a real worker the session has a thread of its own: handlers that block their loop do not make it look dead.
  const loop = process.thread("loop");
  const runtime = loop.runtime();
  const tasks = HANDLERS.map((name) => simTask(name, process.name, loop, { history, hangs }));
  const worker = createWorkerCore(
    { workerId: process.name, name: process.name, pool: "default", ...shape, tasks, runtime, warn: () => undefined },
    link,
    { runtime: process.runtime(), deliver: (run) => void loop.plan(0, run) },
  );
  void worker.start().catch(() => undefined);
}

function simTask(
  name: string,
  worker: string,
  loop: SimProcess,
  { history, hangs }: WorkerEvents,
): Task<never, unknown> {
  return task({
    name,
    run: (work: Work, ctx: TaskContext) => {
      const { executionId, attempt } = ctx;
      const who = { executionId, attempt, worker };
      const { maxAttempts } = ctx;
      if (work.blockMs > 0) block(work.blockMs, worker, loop, history);
      history.add({ kind: "HANDLER_STARTED", ...who, ran: { handler: name, maxAttempts }, asked: work.definition });
      if (work.hangs) {
        hangs();
        return new Promise<never>(() => undefined);
      }
      return new Promise((resolve, reject) => {
        const end = (as: string, settle: () => void) => {
          cancel();
          history.add({ kind: "HANDLER_ENDED", ...who, as });
          settle();
        };
        const finish = () => {
          if (ctx.failures < work.failTimes) end("FAILED", () => reject(new Error("as asked")));
          else end("SUCCEEDED", () => resolve(work.isPoison ? POISON : attempt));
        };
        const cancel = loop.plan(work.runMs, finish);
        if (work.stubborn) return;
        ctx.signal.addEventListener("abort", () => end("ABORTED", () => reject(ctx.signal.reason)));
      });
    },
  }) as Task<never, unknown>;
}

function block(forMs: number, worker: string, loop: SimProcess, history: History): void {
  history.add({ kind: "FAULT", fault: "LOOP_BLOCKED", on: worker, forMs });
  loop.pause(forMs);
}
