import { AsyncLocalStorage } from "node:async_hooks";
import type { Task, TaskContext } from "@mainspring/sdk";
import { realTime, sinceThen, type UnderWay, underWay } from "./real-time.ts";

/** Error that a handler threw. */
export interface HandlerFailure {
  /** The task's name. */
  task: string;
  executionId: string;
  attempt: number;
  /** As it was thrown: with its class, its stack and its cause. */
  error: unknown;
}

const FIRST_TURNS = 10;
const LOOK_EVERY_MS = 2;
/**
 * How often is looked at a handler that waits for nothing which can be seen, some 0.2 s: what it waits for may come over a
 * connection that was open before, or from a thread of the platform. After that only the clock, or the test, can wake it.
 * Looks, because a busy machine makes time pass without anything happening.
 */
const UNSEEN_LOOKS = 80;
/** How long one is waited for that has something under way, before that is a mistake. */
const SEEN_MAX_MS = 10_000;

/** One call of a handler. */
class Call {
  readonly task: string;
  readonly executionId: string;
  readonly attempt: number;
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** How many waits of it end by the clock. */
  waits = 0;
  /** When those end that it sleeps through. */
  readonly wakesAt = new Set<{ at: number }>();
  /** Was waited for long enough. */
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
    return this.waits === 0 && !this.isGivenUp;
  }
}

/** Knows which handlers run, what they wait for and what they threw. */
export class Handlers {
  readonly failures: HandlerFailure[] = [];
  readonly #calls = new Set<Call>();
  readonly #current = new AsyncLocalStorage<Call>();
  /** Work that was under way while no handler ran. */
  #before: UnderWay = new Map();
  #changes = 0;
  readonly #now: () => number;
  readonly #seenMaxMs: number;

  /**
   * @param now milliseconds since 1970, by the simulated clock
   * @param seenMaxMs how long, in real time, a handler may be at work on something that can be seen
   */
  constructor(now: () => number, seenMaxMs: number = SEEN_MAX_MS) {
    this.#now = now;
    this.#seenMaxMs = seenMaxMs;
  }

  /** The task as a worker is to have it. */
  watched(task: Task<never, unknown>): Task<never, unknown> {
    return { ...task, invoke: (payload, ctx) => this.#run(task, payload, ctx) };
  }

  /** These attempts have ended for the server: whatever their handlers still do, nobody hears it. */
  over(executionId: string, attempts: readonly number[]): void {
    for (const call of this.#calls) {
      if (call.executionId === executionId && attempts.includes(call.attempt)) this.#end(call);
    }
  }

  /** Whether a handler is at the execution's current attempt. */
  runs(executionId: string): boolean {
    return [...this.#calls].some((call) => call.executionId === executionId);
  }

  get areRunning(): boolean {
    return this.#calls.size > 0;
  }

  /** Whether one was told to stop and has not yet. */
  get areStopping(): boolean {
    return [...this.#calls].some(({ signal }) => signal.aborted);
  }

  /** When something is due for those that run. */
  instants(): number[] {
    return [...this.#calls].flatMap(({ deadline, wakesAt }) => [deadline, ...[...wakesAt].map(({ at }) => at)]);
  }

  /** Whether the caller is a handler. */
  get isCalling(): boolean {
    return this.#current.getStore() !== undefined;
  }

  /** The handler that asks, if it is one, waits for something that the clock brings about. */
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
   * Waits until no handler is at work on anything real.
   * @throws {Error} one has been for too long
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
      this.failures.push({ task: task.name, executionId: ctx.executionId, attempt: ctx.attempt, error });
      throw error;
    } finally {
      this.#end(call);
    }
  }

  #end(call: Call): void {
    if (this.#calls.delete(call)) this.#changes++;
  }

  /** Sleeps, and is known to. */
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

  #contextOf(ctx: TaskContext, call: Call): TaskContext {
    return new Proxy(ctx, {
      get: (_, name) => {
        if (name === "sleep") return (delayMs: number) => this.#sleep(ctx, call, delayMs);
        const member: unknown = Reflect.get(ctx, name, ctx);
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
