import { createWorkerCore, type Task, type TaskContext, task, type WorkerLink } from "@mainspring/sdk/worker-core";
import type { WorkflowNode } from "@mainspring/server/testing";
import type { History, SeenDefinition } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";

/** Behaviour that a job requests from its handler. */
export interface Work {
  /** Run time of the handler, in milliseconds. */
  runMs: number;
  /** Number of attempts that fail before one succeeds. */
  failTimes: number;
  /**
   * Time for which the handler blocks the event loop that it shares with the other handlers, in milliseconds; 0: not at
   * all.
   */
  blockMs: number;
  /** Whether the handler runs on when it is told to stop. */
  stubborn: boolean;
  /** Whether the handler never ends. */
  hangs: boolean;
  /** Number of durable steps that the handler makes before it does anything else, each with a checkpoint after it. */
  steps: number;
  /** Steps that sleep or wait for a signal, one after the other, when the other steps are made. */
  waits: readonly WorkWait[];
  /** Whether the store refuses the handler's result. */
  isPoison: boolean;
  /** Branch that the handler of a workflow's node names; left out: none. */
  branch?: string;
  /** Values after the number of the attempt in the result of a workflow's node; left out: the result is the number alone. */
  gives?: readonly unknown[];
  /** References to results of earlier nodes and to the input of the run; the handler gets the values. Left out: none. */
  got?: readonly unknown[];
  /** Nodes that the handler of a workflow's node adds to its run; left out: none. */
  spawns?: readonly WorkSpawn[];
  /** Whether the last of `got` ends the result: the index of the item of a map. Left out: no. */
  echoes?: boolean;
  /** Definition to which it belongs, as its client wrote it. */
  definition: SeenDefinition;
}

/** A node that a handler adds. The edges of the node name nodes of the same list. */
export interface WorkSpawn {
  node: WorkflowNode;
  work: Work;
  detached: boolean;
}

export interface WorkWait {
  /** Time for which the step sleeps, or waits for a signal, in milliseconds. */
  forMs: number;
  /** Times at which clients send the signals that it waits for, since the submit was answered; null: the step sleeps. */
  signalsAfterMs: readonly number[] | null;
}

/** Name of the signals that end a wait, by its index. */
export function signalNameOf(index: number): string {
  return `go ${index}`;
}

/** A result that the store refuses. */
export const POISON = "poison";

export function isPoison(result: Uint8Array): boolean {
  return Buffer.from(result).toString() === JSON.stringify(POISON);
}

export const HANDLERS = ["plain", "gpu-only"] as const;

export interface WorkerShape {
  slots: number;
  prefetch: number | "auto";
  capabilities: string[];
}

export interface WorkerEvents {
  history: History;
  /** Called when a handler has started that will never end. */
  hangs(): void;
}

/**
 * Starts a worker process: the SDK's session and executor over a simulated link, with handlers that do what their jobs
 * request.
 */
export function startWorker(
  process: SimProcess,
  shape: WorkerShape,
  link: WorkerLink,
  { history, hangs }: WorkerEvents,
): void {
  // As in a real worker, the session has a thread of its own, so that handlers that block their event loop do not make
  // the worker look dead.
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
      const asked = { ran: { handler: name, maxAttempts }, asked: work.definition };
      history.add({ kind: "HANDLER_STARTED", ...who, ...asked, ...(work.got !== undefined && { got: work.got }) });
      for (const spawn of work.spawns ?? []) addNode(spawn, ctx);
      const result = work.gives === undefined ? attempt : [attempt, ...work.gives, ...echoOf(work)];
      const rest = () =>
        new Promise((resolve, reject) => {
          const end = (as: string, settle: () => void) => {
            cancel();
            history.add({ kind: "HANDLER_ENDED", ...who, as });
            settle();
          };
          const finish = () => {
            if (ctx.failures < work.failTimes) end("FAILED", () => reject(new Error("as asked")));
            else end("SUCCEEDED", () => resolve(work.isPoison ? POISON : result));
          };
          const cancel = loop.plan(work.runMs, finish);
          if (work.stubborn) return;
          ctx.signal.addEventListener("abort", () => end("ABORTED", () => reject(ctx.signal.reason)));
        });
      const aborted = (error: unknown) => {
        history.add({ kind: "HANDLER_ENDED", ...who, as: "ABORTED" });
        throw error;
      };
      if (work.hangs) {
        hangs();
        return new Promise<never>(() => undefined);
      }
      if (work.steps + work.waits.length === 0) return rest();
      const isStopped = () => ctx.signal.aborted && !work.stubborn;
      const made = makeSteps(work.steps, ctx, who, history).then(() => passWaits(work.waits, ctx, who, history));
      return made.then(() => (isStopped() ? aborted(ctx.signal.reason) : rest()), aborted);
    },
  }) as Task<never, unknown>;
}

function addNode({ node, work, detached }: WorkSpawn, ctx: TaskContext): void {
  const { name, dependsOn, join, allowFailure, handler, policy } = node;
  const { retry, timeoutMs, cancelGraceMs, maxLost } = policy;
  const policies = {
    retryPolicy: retry,
    timeoutSec: timeoutMs / 1_000,
    cancelGraceSec: cancelGraceMs / 1_000,
    maxLost,
  };
  const spawned = { name, dependsOn, join, allowFailure, target: { handler }, payload: work, ...policies };
  ctx.spawn([spawned], { detached });
}

function block(forMs: number, worker: string, loop: SimProcess, history: History): void {
  history.add({ kind: "FAULT", fault: "LOOP_BLOCKED", on: worker, forMs });
  loop.pause(forMs);
}

interface Who {
  executionId: string;
  attempt: number;
  worker: string;
}

/** Makes steps one after the other. Each value names the attempt that made it. */
async function makeSteps(steps: number, ctx: TaskContext, who: Who, history: History): Promise<void> {
  history.add({ kind: "CHECKPOINT_SEEN", ...who, last: (ctx.checkpoint.last as number | undefined) ?? null });
  for (let index = 0; index < steps; index++) {
    const name = `step ${index}`;
    const value = await ctx.step.run(name, () => {
      history.add({ kind: "STEP_RAN", ...who, name });
      return `${who.attempt}:${index}`;
    });
    history.add({ kind: "STEP_DURABLE", ...who, name, value });
    const checkpoint = who.attempt * 1_000 + index;
    await ctx.checkpoint(checkpoint);
    history.add({ kind: "CHECKPOINTED", ...who, checkpoint });
  }
}

async function passWaits(waits: readonly WorkWait[], ctx: TaskContext, who: Who, history: History): Promise<void> {
  for (const [index, { forMs, signalsAfterMs }] of waits.entries()) {
    const name = `wait ${index}`;
    const isSleep = signalsAfterMs === null;
    history.add({ kind: "WAIT_BEGUN", ...who, name, forMs, isSleep });
    let signalId: string | null = null;
    if (isSleep) await ctx.step.sleep(name, forMs);
    else signalId = (await ctx.step.waitForSignal(signalNameOf(index), { name, timeoutMs: forMs }))?.id ?? null;
    history.add({ kind: "WAIT_OVER", ...who, name, isSleep, signalId });
  }
}

function echoOf({ echoes = false, got = [] }: Work): readonly unknown[] {
  return echoes ? got.slice(-1) : [];
}
