import { AsyncLocalStorage } from "node:async_hooks";
import { AttemptAborted, type Steps, type Task, type TaskContext } from "@mainspring/sdk";
import { watchHolds } from "@mainspring/sdk/worker-core";
import { realTime, sinceThen, type UnderWay, underWay } from "./real-time.ts";

/** Error that a handler threw. */
export interface HandlerFailure {
  /** Name of the task. */
  task: string;
  executionId: string;
  attempt: number;
  /** Error as the handler threw it: with its class, its stack and its cause. */
  error: unknown;
}

/** Longest time for which a step sleeps in place, in milliseconds. For a longer one, the attempt is suspended. */
const SLEEP_IN_PLACE_MAX_MS = 5_000;
const FIRST_TURNS = 10;
const LOOK_EVERY_MS = 2;
/**
 * Number of polls, about 0.2 s in all, of a handler that has no visible work, because it may wait for a connection that
 * was open before, or for a thread of the platform. After that, only the clock or the test can wake the handler. A
 * number of polls, because on a busy machine time passes without any progress.
 */
const UNSEEN_LOOKS = 80;
/** Longest real time that a handler may have visible work in progress, in milliseconds. A longer wait is an error. */
const SEEN_MAX_MS = 10_000;

/** One call of a handler. */
class Call {
  readonly task: string;
  readonly executionId: string;
  readonly attempt: number;
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Number of this call's waits that end by the clock. */
  waits = 0;
  /** Number of this call's steps that wait or are being stored, which end by the clock. */
  steps = 0;
  /** Number of functions of steps that run, and of calls after which an isolated handler goes on elsewhere. */
  functions = 0;
  /** Times at which the sleeps of this call end. */
  readonly wakesAt = new Set<{ at: number }>();
  /** Whether the poll limit is reached, so that settling no longer waits for this call. */
  isGivenUp = false;

  constructor(task: string, { executionId, attempt, deadline, signal }: TaskContext) {
    this.task = task;
    this.executionId = executionId;
    this.attempt = attempt;
    this.deadline = deadline.getTime();
    this.signal = signal;
    signal.addEventListener("abort", () => {
      this.isGivenUp = false;
    });
  }

  get isAtWork(): boolean {
    const isWaiting = this.waits > 0 || this.steps > 0;
    return (!isWaiting || this.functions > this.waits) && !this.isGivenUp;
  }
}

/** Tracks the handlers that run: their waits and their errors. */
export class Handlers {
  readonly failures: HandlerFailure[] = [];
  readonly #calls = new Set<Call>();
  readonly #current = new AsyncLocalStorage<Call>();
  /** Work that was in progress in this process while no handler ran. */
  #before: UnderWay = new Map();
  #changes = 0;
  readonly #now: () => number;
  readonly #seenMaxMs: number;

  /**
   * @param now simulated wall clock, in milliseconds since 1970
   * @param seenMaxMs longest real time that a handler may have visible work in progress, in milliseconds
   */
  constructor(now: () => number, seenMaxMs: number = SEEN_MAX_MS) {
    this.#now = now;
    this.#seenMaxMs = seenMaxMs;
  }

  /** The task with a handler that reports its calls here. */
  watched(task: Task<never, unknown>): Task<never, unknown> {
    return { ...task, invoke: (payload, ctx) => this.#run(task, payload, ctx) };
  }

  /** Records that these attempts have ended for the server; results of handlers that still run are dropped. */
  over(executionId: string, attempts: readonly number[]): void {
    for (const call of this.#calls) {
      if (call.executionId === executionId && attempts.includes(call.attempt)) this.#end(call);
    }
  }

  /** Whether a handler runs for the execution's current attempt. */
  runs(executionId: string): boolean {
    return [...this.#calls].some((call) => call.executionId === executionId);
  }

  get areRunning(): boolean {
    return this.#calls.size > 0;
  }

  /** Whether a handler was told to stop and has not ended. */
  get areStopping(): boolean {
    return [...this.#calls].some(({ signal }) => signal.aborted);
  }

  /** Times at which a running handler has something due. */
  instants(): number[] {
    return [...this.#calls].flatMap(({ deadline, wakesAt }) => [deadline, ...[...wakesAt].map(({ at }) => at)]);
  }

  /** Whether the caller of this getter is a handler. */
  get isCalling(): boolean {
    return this.#current.getStore() !== undefined;
  }

  /** Waits for a promise that the clock resolves. If the caller is a handler, the call counts as one that waits. */
  async waiting<T>(promise: Promise<T>): Promise<T> {
    const call = this.#current.getStore();
    if (call === undefined) return promise;
    call.waits++;
    try {
      return await promise;
    } finally {
      call.waits--;
    }
  }

  /**
   * Waits until no handler has real work in progress.
   * @throws {Error} a handler has had work in progress for too long
   */
  async settle(isDone: () => boolean): Promise<void> {
    await realTime.turn();
    let [changes, looks, sinceMs] = [this.#changes, 0, realTime.monotonicMs()];
    for (; !isDone(); looks++) {
      const atWork = [...this.#calls].filter((call) => call.isAtWork);
      if (atWork.length === 0) return;
      if (changes !== this.#changes) [changes, looks, sinceMs] = [this.#changes, 0, realTime.monotonicMs()];
      if (looks > UNSEEN_LOOKS) this.#judge(atWork, realTime.monotonicMs() - sinceMs);
      await (looks < FIRST_TURNS ? realTime.turn() : realTime.pause(LOOK_EVERY_MS));
    }
  }

  #judge(atWork: readonly Call[], waitedMs: number): void {
    const seen = sinceThen(this.#before);
    if (seen.length === 0) for (const call of atWork) call.isGivenUp = true;
    else if (waitedMs >= this.#seenMaxMs) throw new Error(tooLong(atWork, waitedMs, seen));
  }

  async #run(task: Task<never, unknown>, payload: unknown, ctx: TaskContext): Promise<unknown> {
    if (!this.areRunning) this.#before = underWay();
    const call = new Call(task.name, ctx);
    this.#calls.add(call);
    this.#changes++;
    try {
      return await this.#current.run(call, () => task.invoke(payload, this.#contextOf(ctx, call)));
    } catch (error) {
      const { reason } = ctx.signal;
      const isSuspended = reason instanceof AttemptAborted && reason.reason === "SUSPENDED";
      if (!isSuspended)
        this.failures.push({ task: task.name, executionId: ctx.executionId, attempt: ctx.attempt, error });
      throw error;
    } finally {
      this.#end(call);
    }
  }

  #end(call: Call): void {
    if (this.#calls.delete(call)) this.#changes++;
  }

  /** Sleeps, and records when the sleep ends. */
  async #sleep(ctx: TaskContext, call: Call, delayMs: number): Promise<void> {
    const wake = { at: this.#now() + delayMs };
    call.wakesAt.add(wake);
    call.waits++;
    try {
      await ctx.sleep(delayMs);
    } finally {
      call.waits--;
      call.wakesAt.delete(wake);
    }
  }

  /** Steps that record when they wait by the clock, and when their functions run. */
  #stepsOf(step: Steps, call: Call): Steps {
    const waiting = <T>(result: Promise<T>): Promise<T> => this.#stepEnds(call, result);
    const begin = () => {
      call.functions++;
      this.#changes++;
      return () => {
        call.functions--;
      };
    };
    const working = async <T>(fn: () => T | PromiseLike<T>): Promise<T> => {
      const end = begin();
      try {
        return await fn();
      } finally {
        end();
      }
    };
    const steps: Steps = {
      ...step,
      run: (name, fn, options) => waiting(step.run(name, typeof fn === "function" ? () => working(fn) : fn, options)),
      sleep: (name, duration) => waiting(step.sleep(name, duration)),
      sleepUntil: (name, date) => waiting(step.sleepUntil(name, date)),
      waitForSignal: (names, options) => waiting(step.waitForSignal(names, options)),
    };
    return watchHolds(steps, begin);
  }

  /** @returns `result` itself, which nobody need await */
  #stepEnds<T>(call: Call, result: Promise<T>): Promise<T> {
    const wake = { at: this.#now() + SLEEP_IN_PLACE_MAX_MS };
    const end = () => {
      call.wakesAt.delete(wake);
      call.steps--;
    };
    call.wakesAt.add(wake);
    call.steps++;
    result.then(end, end);
    return result;
  }

  #contextOf(ctx: TaskContext, call: Call): TaskContext {
    let steps: Steps | null = null;
    return new Proxy(ctx, {
      get: (_, name) => {
        if (name === "sleep") return (delayMs: number) => this.#sleep(ctx, call, delayMs);
        if (name === "step") return (steps ??= this.#stepsOf(ctx.step, call));
        const member: unknown = Reflect.get(ctx, name, ctx);
        // This function has a property, which a bound one would lack.
        if (name === "checkpoint") return member;
        return typeof member === "function" ? member.bind(ctx) : member;
      },
    });
  }
}

function tooLong(atWork: readonly Call[], waitedMs: number, seen: readonly string[]): string {
  const who = atWork.map(({ task, executionId }) => `${task} (execution ${executionId})`).join(", ");
  return (
    `the clock has waited ${Math.round(waitedMs / 100) / 10} s, in real time, for ${who}, while this process has under way: ` +
    `${seen.join(", ")}. A handler that is only to wait takes ctx.sleep(ms), which costs a test no time`
  );
}
