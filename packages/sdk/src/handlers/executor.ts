import { defer, type Runtime } from "../runtime.ts";
import type {
  AttemptRef,
  CancelCause,
  Ending,
  FinishedReport,
  Orders,
  Report,
  StartedReport,
} from "../session/work.ts";
import { StepOutbox } from "../steps/step-outbox.ts";
import type { Task } from "../task.ts";
import { withinTrace } from "../tracing.ts";
import { Attempt, AttemptContext, type ContextParts } from "./attempt.ts";
import { Deadlines } from "./deadlines.ts";
import { type Middleware, runWithin } from "./middleware.ts";
import { endingOfForce, endingOfReturn, endingOfThrow, succeeded, suspended, terminal } from "./outcome.ts";
import { OutputBuffer } from "./output-buffer.ts";
import type { StallGuard } from "./stall-guard.ts";
import type { StartBoard } from "./start-board.ts";
import { StuckHandlers } from "./stuck-handlers.ts";
import type { Hooks } from "./worker-hooks.ts";

export interface ExecutorOptions {
  tasks: readonly Task<never, unknown>[];
  /** Number of handlers that run at once. */
  slots: number;
  runtime: Runtime;
  guard: StallGuard;
  hooks: Hooks;
  /** Runs around each handler; the worker may add to it until it starts. Left out: none. */
  middleware?: readonly Middleware[] | undefined;
  /** Shared memory where the executor notes starts before their handlers run; absent: none. */
  starts?: StartBoard | undefined;
  /** Called with a report, at most once per turn of the event loop. */
  report(report: Report): void;
  /** Called with a message for the people who run the worker. */
  warn(message: string): void;
}

/**
 * Characters of payloads that one turn of the event loop parses. After that, further handlers start in the next turn.
 */
const PAYLOAD_CHARS_PER_TURN = 256 * 1024;

/**
 * Runs handlers: as many at once as there are slots, the rest in order of arrival. All events of one turn of the event
 * loop form one report.
 */
export class Executor {
  readonly #tasks: ReadonlyMap<string, Task<never, unknown>>;
  readonly #slots: number;
  readonly #runtime: Runtime;
  readonly #report: (report: Report) => void;
  readonly #output: OutputBuffer;
  readonly #outbox = new StepOutbox(() => this.#setFlush());
  readonly #contextParts: ContextParts;
  readonly #deadlines: Deadlines;
  readonly #guard: StallGuard;
  readonly #hooks: Hooks;
  readonly #middleware: readonly Middleware[];
  readonly #starts: StartBoard | undefined;
  readonly #stuck: StuckHandlers;
  /** Attempts that are not OVER, by execution id. A newer attempt of an execution replaces the older one. */
  readonly #attempts = new Map<string, Attempt>();
  /**
   * Queue (FIFO) of waiting attempts, from index `#head` on. Attempts that left the queue otherwise are OVER, and the
   * executor skips them.
   */
  #waiting: Attempt[] = [];
  #head = 0;
  #occupied = 0;
  #isFilling = false;
  /** Characters of the payloads of attempts that started in this turn of the event loop. */
  #startedChars = 0;
  #isDraining = false;
  #started: Attempt[] = [];
  #finished: FinishedReport[] = [];
  #isFlushSet = false;

  constructor(options: ExecutorOptions) {
    this.#tasks = new Map(options.tasks.map((task) => [task.name, task]));
    this.#slots = options.slots;
    this.#runtime = options.runtime;
    this.#report = options.report;
    this.#guard = options.guard;
    this.#hooks = options.hooks;
    this.#middleware = options.middleware ?? [];
    this.#starts = options.starts;
    this.#stuck = new StuckHandlers(options.runtime, options.warn);
    this.#output = new OutputBuffer(options.runtime, () => this.#flush());
    const suspend = (attempt: Attempt) => this.#stop(attempt, "SUSPENDED", this.#runtime.monotonicMs());
    this.#contextParts = { listener: this.#output, outbox: this.#outbox, runtime: options.runtime, suspend };
    this.#deadlines = new Deadlines(options.runtime, (nowMs) => this.#checkDeadlines(nowMs));
  }

  /** Number of slots in use, including those of handlers that ignore their cancellation. */
  get occupied(): number {
    return this.#occupied;
  }

  apply(orders: Orders): void {
    if (orders.drain) this.#drain();
    for (const ack of orders.stepAcks ?? []) this.#find(ack)?.steps?.acknowledged(ack.number);
    for (const assignment of orders.assigns) this.#take(new Attempt(assignment));
    for (const cancel of orders.cancels) this.#cancel(this.#find(cancel), cancel.cause);
    for (const ref of orders.forget) this.#forget(this.#find(ref), "SUPERSEDED");
    for (const ref of orders.takeBack) this.#handBack(this.#find(ref));
    if (orders.abandon) for (const attempt of [...this.#attempts.values()]) this.#forget(attempt, "WORKER_LEAVES");
    this.#fill();
  }

  /** @param tooOld name of the connected server if it is too old to store steps; null: it can */
  welcomed(tooOld: string | null): void {
    this.#outbox.tooOld = tooOld;
    if (tooOld !== null) for (const { steps } of this.#attempts.values()) steps?.unsupported();
  }

  #take(attempt: Attempt): void {
    const { executionId } = attempt.assignment;
    this.#forget(this.#attempts.get(executionId), "SUPERSEDED");
    if (this.#isDraining) return this.#finish(attempt, endingOfForce("RELEASED"));
    this.#attempts.set(executionId, attempt);
    this.#waiting.push(attempt);
  }

  #drain(): void {
    this.#isDraining = true;
    this.#handBackWaiting();
  }

  #handBackWaiting(): void {
    for (const attempt of [...this.#attempts.values()]) {
      if (attempt.phase === "WAITING") this.#finish(attempt, endingOfForce("RELEASED"));
    }
  }

  #handBack(attempt: Attempt | undefined): void {
    if (attempt === undefined) return;
    if (attempt.phase === "WAITING") return this.#finish(attempt, endingOfForce("RELEASED"));
    // The report of the start may have crossed the server's question.
    this.#started.push(attempt);
    this.#setFlush();
  }

  #find({ executionId, attempt }: AttemptRef): Attempt | undefined {
    const found = this.#attempts.get(executionId);
    return found?.assignment.attempt === attempt ? found : undefined;
  }

  #cancel(attempt: Attempt | undefined, cause: CancelCause): void {
    // The attempt has finished already: its result is on its way and says more than a cancellation.
    if (attempt === undefined) return;
    const abort = cause === "REQUESTED" ? "CANCELLED" : cause;
    if (attempt.phase === "WAITING") this.#finish(attempt, endingOfForce(abort));
    else if (abort === "TIMED_OUT") this.#stop(attempt, abort, this.#runtime.monotonicMs());
    else attempt.abort(abort);
  }

  /** Drops an attempt that the server no longer wants. Its slot stays occupied until its handler ends. */
  #forget(attempt: Attempt | undefined, cause: "SUPERSEDED" | "WORKER_LEAVES"): void {
    if (attempt === undefined) return;
    const isRunning = attempt.phase === "RUNNING";
    this.#close(attempt);
    if (isRunning) {
      this.#stuck.add(attempt);
      this.#hooks.dropped(attempt, cause, this.#runtime.monotonicMs());
    } else this.#stuck.end(attempt);
    this.#setFlush();
    attempt.abort(cause);
    attempt.steps?.drop();
  }

  #fill(): void {
    // Handlers that end at once call this function again; the loop in progress continues instead.
    if (this.#isFilling) return;
    this.#isFilling = true;
    // After a stall, the server may have given the attempts that wait here to other workers.
    if (this.#guard.hasStalled()) {
      this.#handBackWaiting();
      this.#hooks.stalled({ reason: "PROCESS_STOPPED" });
    }
    while (this.#occupied < this.#slots && this.#startedChars < PAYLOAD_CHARS_PER_TURN) {
      const next = this.#next();
      if (next === null) break;
      this.#start(next);
    }
    this.#isFilling = false;
  }

  #next(): Attempt | null {
    while (this.#head < this.#waiting.length) {
      const attempt = this.#waiting[this.#head++] as Attempt;
      if (attempt.phase === "WAITING") return attempt;
    }
    this.#waiting = [];
    this.#head = 0;
    return null;
  }

  #start(attempt: Attempt): void {
    const nowMs = this.#runtime.monotonicMs();
    attempt.phase = "RUNNING";
    attempt.startedAtMs = this.#runtime.now();
    attempt.beganMs = nowMs;
    attempt.dueMs = nowMs + attempt.assignment.timeoutMs;
    this.#occupied++;
    this.#startedChars += attempt.assignment.payload.length;
    this.#started.push(attempt);
    this.#setFlush();
    this.#deadlines.watch(attempt, nowMs);
    this.#starts?.add(startedReport(attempt));
    this.#hooks.started(attempt);
    const task = this.#tasks.get(attempt.assignment.handler);
    if (task !== undefined) return this.#run(task, attempt);
    const { handler } = attempt.assignment;
    this.#end(attempt, terminal("UnknownHandler", `this worker has no handler "${handler}"`));
  }

  #run(task: Task<never, unknown>, attempt: Attempt): void {
    const isDirect = this.#middleware.length === 0;
    if (task.forward !== undefined && isDirect)
      return this.#end(attempt, succeeded(task.forward(attempt.assignment.payload)));
    let payload: unknown;
    try {
      if (attempt.assignment.payload !== "") payload = JSON.parse(attempt.assignment.payload);
    } catch (error) {
      return this.#end(attempt, terminal("InvalidPayload", `the payload is not JSON: ${(error as Error).message}`));
    }
    try {
      const context = new AttemptContext(attempt, this.#contextParts);
      const run = () => task.invoke(payload, context);
      const value = withinTrace(context.traceparent, () => {
        return isDirect ? run() : runWithin(this.#middleware, context, run);
      });
      if (isThenable(value)) settled(value).then(this.#onReturn(attempt), this.#onThrow(attempt));
      else this.#end(attempt, endingOfReturn(value, attempt.abortCause));
    } catch (error) {
      this.#end(attempt, endingOfThrow(error, attempt.abortCause));
    }
  }

  #onReturn(attempt: Attempt): (value: unknown) => void {
    return (value) => this.#end(attempt, endingOfReturn(value, attempt.abortCause));
  }

  #onThrow(attempt: Attempt): (error: unknown) => void {
    return (error) => this.#end(attempt, endingOfThrow(error, attempt.abortCause));
  }

  /** Ends an attempt whose handler has returned or thrown. */
  #end(attempt: Attempt, ending: Ending): void {
    this.#occupied--;
    if (attempt.phase === "RUNNING") this.#finish(attempt, ending);
    else {
      this.#stuck.end(attempt);
      this.#setFlush();
    }
    this.#fill();
  }

  /** Ends an attempt whose handler did not stop within the grace time. The handler keeps its slot until it returns. */
  #force(attempt: Attempt): void {
    this.#stuck.add(attempt);
    this.#finish(attempt, endingOfForce(forcedOutcome(attempt)), true);
    this.#hooks.stuck(attempt);
  }

  /** Ends an attempt for the server, even if the handler still runs. */
  #finish(attempt: Attempt, ending: Ending, stillRunning = false): void {
    attempt.steps?.finish();
    this.#close(attempt);
    const end = attempt.abortCause === "SUSPENDED" ? suspended(attempt.steps?.waits() ?? []) : ending;
    const { outcome, result, error, advice } = end;
    const { executionId, attempt: number } = attempt.assignment;
    const finishedAtMs = this.#finishedAtMs(attempt);
    if (attempt.startedAtMs > 0) this.#hooks.ended(attempt, end, this.#runtime.monotonicMs());
    const report: FinishedReport = {
      executionId,
      attempt: number,
      outcome,
      result,
      error,
      advice,
      startedAtMs: attempt.startedAtMs,
      finishedAtMs,
      stillRunning,
    };
    if (end.waits !== undefined) report.waits = end.waits;
    if (attempt.branch !== null && outcome === "SUCCEEDED") report.branch = attempt.branch;
    const spawned = attempt.spawned?.all;
    if (spawned !== undefined && outcome === "SUCCEEDED") report.spawned = spawned;
    this.#finished.push(report);
    this.#setFlush();
  }

  /** End of an attempt at its start and the time that it has run, because the wall clock may have been set meanwhile. */
  #finishedAtMs({ startedAtMs, beganMs }: Attempt): number {
    if (startedAtMs === 0) return this.#runtime.now();
    return startedAtMs + Math.round(this.#runtime.monotonicMs() - beganMs);
  }

  #close(attempt: Attempt): void {
    attempt.phase = "OVER";
    attempt.dueMs = Number.POSITIVE_INFINITY;
    this.#attempts.delete(attempt.assignment.executionId);
  }

  /** Tells a handler to stop within the grace time. */
  #stop(attempt: Attempt, cause: "TIMED_OUT" | "SUSPENDED", nowMs: number): void {
    attempt.abort(cause);
    if (attempt.isStopping) return;
    attempt.isStopping = true;
    attempt.dueMs = nowMs + attempt.assignment.cancelGraceMs;
    this.#deadlines.watch(attempt, nowMs);
  }

  /** Tells attempts past their timeout to stop, and gives up attempts that did not stop within their grace time. */
  #checkDeadlines(nowMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const attempt of [...this.#attempts.values()]) {
      if (attempt.phase !== "RUNNING") continue;
      if (attempt.dueMs <= nowMs) {
        if (attempt.isStopping) this.#force(attempt);
        else this.#stop(attempt, "TIMED_OUT", nowMs);
      }
      nextMs = Math.min(nextMs, attempt.dueMs);
    }
    return nextMs;
  }

  #setFlush(): void {
    if (this.#isFlushSet) return;
    this.#isFlushSet = true;
    defer(this.#runtime, () => {
      this.#isFlushSet = false;
      const isHeldUp = this.#startedChars >= PAYLOAD_CHARS_PER_TURN;
      this.#startedChars = 0;
      this.#flush();
      if (isHeldUp) this.#fill();
    });
  }

  #flush(): void {
    const finished = this.#finished;
    // A finished attempt reports its own start, and a dropped attempt reports nothing.
    const started = this.#started.filter((attempt) => attempt.phase === "RUNNING").map(startedReport);
    this.#finished = [];
    this.#started = [];
    this.#starts?.reported();
    const ended = this.#stuck.takeEnded();
    const { progress, logs } = this.#output.take();
    const steps = this.#outbox.take();
    if (steps !== undefined) this.#report({ started, finished, ended, progress, logs, steps });
    else if (started.length + finished.length + ended.length + progress.length + logs.length > 0)
      this.#report({ started, finished, ended, progress, logs });
  }
}

function forcedOutcome(attempt: Attempt): "TIMED_OUT" | "CANCELLED" {
  return attempt.abortCause === "CANCELLED" ? "CANCELLED" : "TIMED_OUT";
}

function startedReport({ ref, startedAtMs }: Attempt): StartedReport {
  return { ...ref, startedAtMs };
}

/** Wraps a thenable, because thenables of other libraries may resolve twice, which would free a slot twice. */
function settled(value: PromiseLike<unknown>): Promise<unknown> {
  return value instanceof Promise ? value : Promise.resolve(value);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
