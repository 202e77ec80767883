import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import type { Token } from "../../ports/messages.ts";
import type { StepBudget } from "./step-budget.ts";

/** An attempt that a worker has, as its gateway knows it. */
export interface Held {
  readonly token: Token;
  /** null: the gateway knows the attempt only from the worker's hello. */
  readonly handler: string | null;
  /** Traceparent that the handler gets; null: none, or the gateway does not know it. */
  readonly traceparent: string | null;
  /**
   * ASSIGNED: sent to the worker, which has not reported the start. FINISHED: the result is neither acknowledged nor
   * refused. OVER: settled, but the worker has not reported that the handler has ended.
   */
  state: "ASSIGNED" | "STARTED" | "FINISHED" | "OVER";
  startedAt: EpochMs | null;
  /** Time at which the attempt was sent to the worker, on the monotonic clock. */
  readonly sentAtMs: number;
  /**
   * Number of the first question asked after the attempt was sent. Only answers to this and later questions can show
   * that the attempt is missing.
   */
  readonly askable: number;
  /** Time at which the result arrived, on the monotonic clock; 0: it has not arrived. */
  finishedAtMs: number;
  /** Whether the attempt is FINISHED by force: its handler still runs and keeps the slot. */
  stillRunning: boolean;
  /** Records of the execution; null: it has none that this gateway knows of. */
  budget: StepBudget | null;
  /** Times on the monotonic clock at which records came that no owner has acknowledged, by number; null: there were none. */
  unstored: Map<number, number> | null;
  /** Next attempt of the same execution at this worker: the handler of an earlier attempt may still run; null: none. */
  other: Held | null;
}

type NewHeld = Pick<Held, "token" | "state" | "startedAt"> &
  Partial<Pick<Held, "handler" | "traceparent" | "sentAtMs" | "askable" | "budget">>;

/** All attempts that one worker holds, by token. */
export class HeldAttempts {
  readonly #byExecution = new Map<ExecutionId, Held>();
  #occupied = 0;
  #running = 0;
  #unacknowledged = 0;
  #stuck = 0;
  /** Attempts with records that no owner has acknowledged. */
  readonly #recording = new Set<Held>();

  get isEmpty(): boolean {
    return this.#byExecution.size === 0;
  }

  /** Attempts that occupy a slot or wait for one, including those whose handlers outlive them. */
  get occupied(): number {
    return this.#occupied;
  }

  get running(): number {
    return this.#running;
  }

  get unacknowledged(): number {
    return this.#unacknowledged;
  }

  /** Slots of handlers that still run after the end of their attempts. */
  get stuck(): number {
    return this.#stuck;
  }

  /** Attempts that wait for a slot, or whose start is not reported yet. */
  get waiting(): number {
    return this.#occupied - this.#running - this.#stuck;
  }

  /** Attempts that are not settled. */
  get size(): number {
    return this.#running + this.waiting + this.#unacknowledged;
  }

  get(executionId: ExecutionId, attempt: number): Held | null {
    let held = this.#byExecution.get(executionId) ?? null;
    while (held !== null && held.token.attempt !== attempt) held = held.other;
    return held;
  }

  /** Adds an attempt whose token is not held yet. */
  add({ token, state, startedAt, handler, traceparent, sentAtMs, askable, budget }: NewHeld): Held {
    // One literal without spreads: this runs for each attempt.
    const held: Held = {
      token,
      handler: handler ?? null,
      traceparent: traceparent ?? null,
      state,
      startedAt,
      sentAtMs: sentAtMs ?? 0,
      askable: askable ?? 0,
      finishedAtMs: 0,
      stillRunning: false,
      budget: budget ?? null,
      unstored: null,
      other: this.#byExecution.get(token.executionId) ?? null,
    };
    this.#byExecution.set(token.executionId, held);
    this.#count(held, 1);
    return held;
  }

  /** Notes the start of an attempt. A settled or finished attempt stays as it is. */
  start(held: Held): void {
    if (held.state !== "ASSIGNED") return;
    this.#count(held, -1);
    held.state = "STARTED";
    this.#count(held, 1);
  }

  /** Notes the result of an attempt. @param nowMs time of its arrival, on the monotonic clock */
  finish(held: Held, stillRunning: boolean, nowMs: number): void {
    // The refusal crossed the result, so the worker forgets the attempt and never reports the end of its handler.
    if (held.state === "OVER" && !stillRunning) return this.end(held);
    if (held.state === "OVER") return;
    if (held.state !== "FINISHED") held.finishedAtMs = nowMs;
    this.#count(held, -1);
    held.state = "FINISHED";
    held.stillRunning = stillRunning;
    this.#count(held, 1);
  }

  /**
   * Settles an attempt whose result was acknowledged or refused. A slot that its handler still occupies stays occupied
   * until `end`.
   */
  settle(held: Held, keepsSlot: boolean): void {
    if (held.state === "OVER") return;
    if (!keepsSlot) {
      this.delete(held.token);
      return;
    }
    this.#drop(held);
    held.state = "OVER";
    this.#count(held, 1);
  }

  /** Notes a record of the attempt, which the gateway passes to the owner. @param nowMs time of its arrival, on the monotonic clock */
  record(held: Held, number: number, nowMs: number): void {
    if (held.state === "OVER") return;
    held.unstored ??= new Map();
    // A record that the worker repeats is as old as before.
    if (!held.unstored.has(number)) held.unstored.set(number, nowMs);
    this.#recording.add(held);
  }

  /** Notes that the owner has acknowledged a record. */
  stored({ executionId, attempt }: Token, number: number): void {
    const held = this.get(executionId, attempt);
    if (held?.unstored?.delete(number) && held.unstored.size === 0) this.#recording.delete(held);
  }

  #drop(held: Held): void {
    this.#count(held, -1);
    this.#recording.delete(held);
  }

  /** Notes that the attempt's handler has ended. */
  end(held: Held): void {
    if (held.state === "OVER") this.delete(held.token);
    else if (held.stillRunning) {
      this.#count(held, -1);
      held.stillRunning = false;
      this.#count(held, 1);
    }
  }

  /** @returns whether the attempt was held */
  delete({ executionId, attempt }: Token): boolean {
    const first = this.#byExecution.get(executionId);
    if (first === undefined) return false;
    if (first.token.attempt === attempt) {
      if (first.other === null) this.#byExecution.delete(executionId);
      else this.#byExecution.set(executionId, first.other);
      this.#drop(first);
      return true;
    }
    let before = first;
    while (before.other !== null && before.other.token.attempt !== attempt) before = before.other;
    if (before.other === null) return false;
    this.#drop(before.other);
    before.other = before.other.other;
    return true;
  }

  /** Whether results or records wait for their acknowledgement. */
  get awaitsOwners(): boolean {
    return this.#unacknowledged > 0 || this.#recording.size > 0;
  }

  /** Whether a result or record that arrived at `untilMs` or before is neither acknowledged nor refused. */
  hasWaitedSince(untilMs: number): boolean {
    for (const { unstored } of this.#recording) {
      for (const atMs of unstored?.values() ?? []) if (atMs <= untilMs) return true;
    }
    if (this.#unacknowledged === 0) return false;
    for (const held of this) if (held.state === "FINISHED" && held.finishedAtMs <= untilMs) return true;
    return false;
  }

  *[Symbol.iterator](): Generator<Held> {
    for (const first of this.#byExecution.values()) {
      for (let held: Held | null = first; held !== null; held = held.other) yield held;
    }
  }

  #count({ state, stillRunning }: Held, by: number): void {
    if (state === "FINISHED") this.#unacknowledged += by;
    if (state === "STARTED") this.#running += by;
    const isStuck = state === "OVER" || stillRunning;
    if (isStuck) this.#stuck += by;
    if (isStuck || state !== "FINISHED") this.#occupied += by;
  }
}
