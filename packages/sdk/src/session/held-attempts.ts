import { create } from "@bufbuild/protobuf";
import {
  type Assign,
  type Finished,
  type Held,
  HeldSchema,
  type ShardEpoch,
  type Step,
  type Token,
} from "@mainspring/proto";
import { finishedMessage, stepMessage, unsuspended } from "./messages.ts";
import type { AttemptRef, FinishedReport, StepRef, StepReport } from "./work.ts";

/**
 * Smallest number of settled executions that the worker remembers, so that a late repeat of their Assign starts
 * nothing.
 */
const RECENT_MIN = 4_096;

interface HeldAttempt {
  token: Token;
  /** Start of the handler, in milliseconds since 1970; 0: not started. */
  startedAtMs: number;
  /** Result, kept until the server acknowledges or refuses it; null: the attempt waits or runs. */
  finished: Finished | null;
  /** Records that the server has not acknowledged, by number, in order; null: none so far. */
  steps: Map<number, Step> | null;
}

/**
 * Reaction to an Assign. NEW: the worker takes the attempt. HELD: the worker has the attempt already. SETTLED: the
 * attempt, or a later one, was settled before. STALE: the Assign is older than an epoch that the worker knows. The
 * worker answers SETTLED and STALE with RELEASED, because a gateway that believes that the worker has the attempt would
 * wait for it for ever.
 */
export type Taking = "NEW" | "HELD" | "SETTLED" | "STALE";

/**
 * Every attempt that this worker holds: waiting, running, or finished and not acknowledged. An execution has one
 * attempt here: the server assigns the next attempt only after it has ended the previous one, so the worker then drops
 * the previous one.
 */
export class HeldAttempts {
  readonly #held = new Map<string, HeldAttempt>();
  /** Attempts that are over for the server while their handlers may still run, by token. */
  readonly #over = new Map<string, Token>();
  /** Highest epoch of each shard that an Assign or a question of the server has named. */
  readonly #epochs = new Map<number, bigint>();
  /**
   * Latest attempt by execution id, in two generations: when the younger generation is full, it replaces the older one.
   */
  #recent = new Map<string, number>();
  #older = new Map<string, number>();
  #unfinished = 0;

  get size(): number {
    return this.#held.size;
  }

  /** Number of attempts that wait or run. */
  get unfinished(): number {
    return this.#unfinished;
  }

  /** Records epochs. From now on, Assigns of older epochs are STALE. */
  learn(epochs: readonly ShardEpoch[]): void {
    for (const { shard, epoch } of epochs) {
      if (epoch > (this.#epochs.get(shard) ?? 0n)) this.#epochs.set(shard, epoch);
    }
  }

  take({ epoch }: Pick<Assign, "epoch">, token: Token): Taking {
    const { executionId, attempt, shard } = token;
    const before = this.#held.get(executionId);
    if (before?.token.attempt === attempt) return "HELD";
    const newest = this.#epochs.get(shard) ?? 0n;
    // A gateway whose release has no epochs sends 0.
    if (epoch !== 0n && epoch < newest) return "STALE";
    if (epoch > newest) this.#epochs.set(shard, epoch);
    const known = before?.token.attempt ?? this.#recent.get(executionId) ?? this.#older.get(executionId) ?? 0;
    if (attempt <= known) return "SETTLED";
    if (before !== undefined) this.#drop(before);
    this.#unfinished++;
    this.#held.set(executionId, { token, startedAtMs: 0, finished: null, steps: null });
    return "NEW";
  }

  /** @returns token of the attempt; null: the worker does not hold the attempt */
  tokenOf(ref: AttemptRef): Token | null {
    return this.#find(ref)?.token ?? null;
  }

  start(ref: AttemptRef, startedAtMs: number): Token | null {
    const held = this.#find(ref);
    if (held === undefined) return null;
    held.startedAtMs = startedAtMs;
    return held.token;
  }

  /**
   * @param isTooOld whether the server is too old to suspend attempts
   * @returns result to send; null: the server no longer wants it
   */
  finish(report: FinishedReport, isTooOld = false): Finished | null {
    const held = this.#find(report);
    if (held === undefined || held.finished !== null) return null;
    held.startedAtMs = report.startedAtMs;
    held.finished = finishedMessage(held.token, report);
    if (isTooOld) held.finished = unsuspended(held.finished);
    this.#unfinished--;
    return held.finished;
  }

  /** @returns record to send; null: the server no longer wants it */
  record(report: StepReport): Step | null {
    const held = this.#find(report);
    // Records follow no result of their attempt.
    if (held === undefined || held.finished !== null) return null;
    const step = stepMessage(held.token, report);
    held.steps ??= new Map();
    held.steps.set(step.number, step);
    return step;
  }

  /** Removes a record that the server has stored. @returns whether the worker waited for that */
  acknowledge(ref: StepRef): boolean {
    return this.#find(ref)?.steps?.delete(ref.number) ?? false;
  }

  /** Records of this attempt that the server has not acknowledged. */
  stepsOf(ref: AttemptRef): Step[] {
    return [...(this.#find(ref)?.steps?.values() ?? [])];
  }

  /** Records of all attempts that the server has not acknowledged. */
  *steps(): Generator<Step> {
    for (const { steps } of this.#held.values()) if (steps !== null) yield* steps.values();
  }

  /** Removes all records, which the server cannot store, and fails attempts that it cannot suspend. */
  dropSteps(): void {
    for (const held of this.#held.values()) {
      held.steps = null;
      if (held.finished !== null) held.finished = unsuspended(held.finished);
    }
  }

  /**
   * Records that the handler of an attempt that is over has ended. @returns token to name in `ended`; null: the slot
   * was free already
   */
  end(ref: AttemptRef): Token | null {
    const held = this.#find(ref);
    if (held?.finished?.stillRunning === true) {
      held.finished.stillRunning = false;
      return held.token;
    }
    if (this.#over.size === 0) return null;
    const token = this.#over.get(keyOf(ref)) ?? null;
    this.#over.delete(keyOf(ref));
    return token;
  }

  /** Removes an attempt whose result the server has acknowledged or refused. */
  settle(token: Token): void {
    const held = this.#find(token);
    if (held === undefined) return;
    this.#held.delete(token.executionId);
    this.#drop(held);
    this.#remember(token);
  }

  /** Result of this attempt, for a repeated send; null: it has none. */
  resultOf(ref: AttemptRef): Finished | null {
    return this.#find(ref)?.finished ?? null;
  }

  /** Results that the server has neither acknowledged nor refused. */
  *results(): Generator<Finished> {
    for (const { finished } of this.#held.values()) if (finished !== null) yield finished;
  }

  /** Attempts for the hello message: those that the worker holds, and those that are over but keep a slot. */
  list(): Held[] {
    const over = Array.from(this.#over.values(), (token) => create(HeldSchema, { token, over: true }));
    return [...Array.from(this.#held.values(), heldMessage), ...over];
  }

  /** Attempts among `tokens` that the worker holds; all of them where `tokens` is empty. */
  among(tokens: readonly Token[]): Held[] {
    if (tokens.length === 0) return this.list();
    return tokens.flatMap((token) => {
      const held = this.#find(token);
      return held === undefined ? [] : [heldMessage(held)];
    });
  }

  /**
   * Drops an attempt that the server no longer wants. Its handler can run on for a while and keeps its slot until it
   * ends.
   */
  #drop({ token, finished }: HeldAttempt): void {
    if (finished === null) this.#unfinished--;
    if (finished === null || finished.stillRunning) this.#over.set(keyOf(token), token);
  }

  #find({ executionId, attempt }: AttemptRef): HeldAttempt | undefined {
    const held = this.#held.get(executionId);
    return held?.token.attempt === attempt ? held : undefined;
  }

  #remember({ executionId, attempt }: AttemptRef): void {
    this.#recent.set(executionId, attempt);
    if (this.#recent.size < RECENT_MIN) return;
    this.#older = this.#recent;
    this.#recent = new Map();
  }
}

/** Key of an attempt in a map. */
export function keyOf({ executionId, attempt }: AttemptRef): string {
  return `${executionId}:${attempt}`;
}

function heldMessage({ token, startedAtMs, finished }: HeldAttempt): Held {
  const over = finished?.stillRunning === true;
  return create(HeldSchema, { token, startedAtMs: BigInt(startedAtMs), finished: finished !== null, over });
}
