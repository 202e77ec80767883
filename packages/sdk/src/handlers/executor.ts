import { Attempt, AttemptContext } from "./attempt.ts";
import { Chatter } from "./chatter.ts";
import type { AbortCause } from "./context.ts";
import { Deadlines } from "./deadlines.ts";
import { endingOfForce, endingOfReturn, endingOfThrow, succeeded, terminal } from "./outcome.ts";
import { defer, type Runtime } from "./runtime.ts";
import type { StallGuard } from "./stall-guard.ts";
import type { StartBoard } from "./start-board.ts";
import { StuckHandlers } from "./stuck-handlers.ts";
import type { Task } from "./task.ts";
import type { AttemptRef, CancelCause, Ending, FinishedReport, Orders, Report, StartedReport } from "./work.ts";
import type { Hooks } from "./worker-hooks.ts";

export interface ExecutorOptions {
  tasks: readonly Task<never, unknown>[];
  /** How many handlers run at once. */
  slots: number;
  runtime: Runtime;
  guard: StallGuard;
  hooks: Hooks;
  /** Memory in which starts are noted before their handlers run; left out: none. */
  starts?: StartBoard | undefined;
  /** Gets at most one report a turn of the loop. */
  report(report: Report): void;
  /** Something that people should see. */
  warn(message: string): void;
}

/** Once so many are parsed for handlers, other handlers start in the next turn of the loop. */
const PAYLOAD_CHARS_PER_TURN = 256 * 1024;

/**
 * Runs handlers: as many at once as there are slots, the rest in the order they came. The events of one turn of the
 * event loop are one report.
 */
export class Executor {
  readonly #tasks: ReadonlyMap<string, Task<never, unknown>>;
  readonly #slots: number;
  readonly #runtime: Runtime;
  readonly #report: (report: Report) => void;
  readonly #chatter: Chatter;
  readonly #deadlines: Deadlines;
  readonly #guard: StallGuard;
  readonly #hooks: Hooks;
  readonly #starts: StartBoard | undefined;
  readonly #stuck: StuckHandlers;
  /** Attempts that are not over, by execution: a newer attempt takes the place of an older one. */
  readonly #attempts = new Map<string, Attempt>();
  /** FIFO from `#head` on; those that were taken out meanwhile are OVER and skipped. */
  #waiting: Attempt[] = [];
  #head = 0;
  #occupied = 0;
  #isFilling = false;
  /** Characters of the payloads of what started in this turn of the loop. */
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
    this.#starts = options.starts;
    this.#stuck = new StuckHandlers(options.runtime, options.warn);
    this.#chatter = new Chatter(options.runtime, () => this.#flush());
    this.#deadlines = new Deadlines(options.runtime, (nowMs) => this.#checkDeadlines(nowMs));
  }

  /** Slots in use, those of handlers that ignore their cancellation included. */
  get occupied(): number {
    return this.#occupied;
  }

  obey(orders: Orders): void {
    if (orders.drain) this.#drain();
    for (const assignment of orders.assigns) this.#take(new Attempt(assignment));
    for (const cancel of orders.cancels) this.#cancel(this.#find(cancel), cancel.cause);
    for (const ref of orders.forget) this.#forget(this.#find(ref), "SUPERSEDED");
    for (const ref of orders.takeBack) this.#handBack(this.#find(ref));
    if (orders.abandon) for (const attempt of [...this.#attempts.values()]) this.#forget(attempt, "WORKER_LEAVES");
    this.#fill();
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
    // The report of its start may have crossed the question.
    this.#started.push(attempt);
    this.#setFlush();
  }

  #find({ executionId, attempt }: AttemptRef): Attempt | undefined {
    const found = this.#attempts.get(executionId);
    return found?.assignment.attempt === attempt ? found : undefined;
  }

  #cancel(attempt: Attempt | undefined, cause: CancelCause): void {
    // Finished already: its result is on its way and says more than a cancellation.
    if (attempt === undefined) return;
    const abort = cause === "REQUESTED" ? "CANCELLED" : cause;
    if (attempt.phase === "WAITING") this.#finish(attempt, endingOfForce(abort));
    else if (abort === "TIMED_OUT") this.#timeOut(attempt, this.#runtime.monotonicMs());
    else attempt.abort(abort);
  }

  /** Its slot stays occupied until its handler ends. */
  #forget(attempt: Attempt | undefined, cause: AbortCause): void {
    if (attempt === undefined) return;
    const isRunning = attempt.phase === "RUNNING";
    this.#close(attempt);
    if (isRunning) {
      this.#stuck.add(attempt);
      this.#hooks.dropped(attempt, cause, this.#runtime.monotonicMs());
    } else this.#stuck.end(attempt);
    this.#setFlush();
    attempt.abort(cause);
  }

  #fill(): void {
    // Handlers that end at once come back here: the loop that is under way goes on instead.
    if (this.#isFilling) return;
    this.#isFilling = true;
    // Others may have been given meanwhile what waits here.
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
    if (task.forward !== undefined) return this.#end(attempt, succeeded(task.forward(attempt.assignment.payload)));
    let payload: unknown;
    try {
      if (attempt.assignment.payload !== "") payload = JSON.parse(attempt.assignment.payload);
    } catch (error) {
      return this.#end(attempt, terminal("InvalidPayload", `the payload is not JSON: ${(error as Error).message}`));
    }
    try {
      const value = task.invoke(payload, new AttemptContext(attempt, this.#chatter, this.#runtime));
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

  /** The handler really ended. */
  #end(attempt: Attempt, ending: Ending): void {
    this.#occupied--;
    if (attempt.phase === "RUNNING") this.#finish(attempt, ending);
    else {
      this.#stuck.end(attempt);
      this.#setFlush();
    }
    this.#fill();
  }

  /** The attempt has run out of its time to stop. Its handler keeps its slot until it really ends. */
  #force(attempt: Attempt): void {
    this.#stuck.add(attempt);
    this.#finish(attempt, endingOfForce(forcedOutcome(attempt)), true);
    this.#hooks.stuck(attempt);
  }

  /** It is over for the server, whatever the handler does. */
  #finish(attempt: Attempt, ending: Ending, stillRunning = false): void {
    this.#close(attempt);
    const { outcome, result, error, advice } = ending;
    const { executionId, attempt: number } = attempt.assignment;
    const finishedAtMs = this.#runtime.now();
    if (attempt.startedAtMs > 0) this.#hooks.ended(attempt, ending, this.#runtime.monotonicMs());
    this.#finished.push({
      executionId,
      attempt: number,
      outcome,
      result,
      error,
      advice,
      startedAtMs: attempt.startedAtMs,
      finishedAtMs,
      stillRunning,
    });
    this.#setFlush();
  }

  #close(attempt: Attempt): void {
    attempt.phase = "OVER";
    attempt.dueMs = Number.POSITIVE_INFINITY;
    this.#attempts.delete(attempt.assignment.executionId);
  }

  #timeOut(attempt: Attempt, nowMs: number): void {
    attempt.abort("TIMED_OUT");
    if (attempt.isPastTimeout) return;
    attempt.isPastTimeout = true;
    attempt.dueMs = nowMs + attempt.assignment.cancelGraceMs;
    this.#deadlines.watch(attempt, nowMs);
  }

  /** Tells attempts past their timeout to stop, and gives up attempts that have not stopped within the grace time. */
  #checkDeadlines(nowMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const attempt of [...this.#attempts.values()]) {
      if (attempt.phase !== "RUNNING") continue;
      if (attempt.dueMs <= nowMs) {
        if (attempt.isPastTimeout) this.#force(attempt);
        else this.#timeOut(attempt, nowMs);
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
    // One that has finished already says itself when it started; one that was forgotten has nothing to say.
    const started = this.#started.filter((attempt) => attempt.phase === "RUNNING").map(startedReport);
    this.#finished = [];
    this.#started = [];
    this.#starts?.reported();
    const ended = this.#stuck.takeEnded();
    const { progress, logs } = this.#chatter.take();
    if (started.length + finished.length + ended.length + progress.length + logs.length === 0) return;
    this.#report({ started, finished, ended, progress, logs });
  }
}

function forcedOutcome(attempt: Attempt): "TIMED_OUT" | "CANCELLED" {
  return attempt.abortCause === "CANCELLED" ? "CANCELLED" : "TIMED_OUT";
}

function startedReport({ ref, startedAtMs }: Attempt): StartedReport {
  return { ...ref, startedAtMs };
}

/** Other libraries' thenables may answer twice, which would free a slot twice. */
function settled(value: PromiseLike<unknown>): Promise<unknown> {
  return value instanceof Promise ? value : Promise.resolve(value);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
