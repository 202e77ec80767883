import type { EpochMs, ExecutionId } from "../domain/ids.ts";
import type { Token } from "../ports/messages.ts";

/** An attempt that a worker has, as its gateway knows it. */
export interface Held {
  readonly token: Token;
  /** ASSIGNED: sent to the worker, no word of it yet. FINISHED: its result is neither acknowledged nor refused. */
  state: "ASSIGNED" | "STARTED" | "FINISHED";
  startedAt: EpochMs | null;
  /** Since when its result is here, by the monotonic clock; 0: it is not. */
  finishedAtMs: number;
  /** Another attempt of the same execution: an earlier one may be winding down at the same worker. */
  other: Held | null;
}

/** All that one worker holds, by token. */
export class HeldAttempts {
  readonly #byExecution = new Map<ExecutionId, Held>();
  #occupied = 0;
  #running = 0;
  #unacknowledged = 0;

  /** Attempts that take a slot or wait for one. */
  get occupied(): number {
    return this.#occupied;
  }

  get running(): number {
    return this.#running;
  }

  get unacknowledged(): number {
    return this.#unacknowledged;
  }

  get size(): number {
    return this.#occupied + this.#unacknowledged;
  }

  get(executionId: ExecutionId, attempt: number): Held | null {
    let held = this.#byExecution.get(executionId) ?? null;
    while (held !== null && held.token.attempt !== attempt) held = held.other;
    return held;
  }

  /** The token must not be held yet. */
  add(token: Token, state: Held["state"], startedAt: EpochMs | null): void {
    const other = this.#byExecution.get(token.executionId) ?? null;
    this.#byExecution.set(token.executionId, { token, state, startedAt, finishedAtMs: 0, other });
    this.#count(state, 1);
  }

  /** Moves it on; it never goes back. */
  advance(held: Held, state: "STARTED" | "FINISHED"): void {
    if (held.state === "FINISHED" || held.state === state) return;
    this.#count(held.state, -1);
    held.state = state;
    this.#count(state, 1);
  }

  /** @returns whether it was held */
  delete({ executionId, attempt }: Token): boolean {
    const first = this.#byExecution.get(executionId);
    if (first === undefined) return false;
    if (first.token.attempt === attempt) {
      if (first.other === null) this.#byExecution.delete(executionId);
      else this.#byExecution.set(executionId, first.other);
      this.#count(first.state, -1);
      return true;
    }
    let before = first;
    while (before.other !== null && before.other.token.attempt !== attempt) before = before.other;
    if (before.other === null) return false;
    this.#count(before.other.state, -1);
    before.other = before.other.other;
    return true;
  }

  *[Symbol.iterator](): Generator<Held> {
    for (const first of this.#byExecution.values()) {
      for (let held: Held | null = first; held !== null; held = held.other) yield held;
    }
  }

  #count(state: Held["state"], by: number): void {
    if (state === "FINISHED") this.#unacknowledged += by;
    else this.#occupied += by;
    if (state === "STARTED") this.#running += by;
  }
}
