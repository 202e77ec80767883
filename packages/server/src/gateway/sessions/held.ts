import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import type { Token } from "../../ports/messages.ts";

/** An attempt that a worker has, as its gateway knows it. */
export interface Held {
  readonly token: Token;
  /** null: known from the worker's hello alone. */
  readonly handler: string | null;
  /**
   * ASSIGNED: sent to the worker, which has not said that it began. FINISHED: the result is neither acknowledged nor refused.
   * OVER: settled, but the worker has not said that its handler has ended.
   */
  state: "ASSIGNED" | "STARTED" | "FINISHED" | "OVER";
  startedAt: EpochMs | null;
  /** Time at which it was sent to the worker, on the monotonic clock. */
  readonly sentAtMs: number;
  /** Number of the first question that was asked after it was sent: only its answer and later ones can tell that it is missing. */
  readonly askable: number;
  /** Time at which its result came, on the monotonic clock; 0: it has not come. */
  finishedAtMs: number;
  /** FINISHED by force: its handler still runs and keeps its slot. */
  stillRunning: boolean;
  /** Another attempt of the same execution: an earlier one may be winding down at the same worker. */
  other: Held | null;
}

type NewHeld = Pick<Held, "token" | "state" | "startedAt"> & Partial<Pick<Held, "handler" | "sentAtMs" | "askable">>;

/** All that one worker holds, by token. */
export class HeldAttempts {
  readonly #byExecution = new Map<ExecutionId, Held>();
  #occupied = 0;
  #running = 0;
  #unacknowledged = 0;
  #stuck = 0;

  get isEmpty(): boolean {
    return this.#byExecution.size === 0;
  }

  /** Attempts that take a slot or wait for one, those included whose handlers outlive them. */
  get occupied(): number {
    return this.#occupied;
  }

  get running(): number {
    return this.#running;
  }

  get unacknowledged(): number {
    return this.#unacknowledged;
  }

  /** Slots of handlers that still run although their attempts are over. */
  get stuck(): number {
    return this.#stuck;
  }

  /** Attempts that wait for a slot, or for the worker's word that they began. */
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

  /** The token must not be held yet. */
  add({ token, state, startedAt, handler = null, sentAtMs = 0, askable = 0 }: NewHeld): Held {
    const other = this.#byExecution.get(token.executionId) ?? null;
    const more = { finishedAtMs: 0, stillRunning: false, other };
    const held: Held = { token, handler, state, startedAt, sentAtMs, askable, ...more };
    this.#byExecution.set(token.executionId, held);
    this.#count(held, 1);
    return held;
  }

  /** Moves it on; it never goes back. */
  advance(held: Held, state: "STARTED" | "FINISHED", stillRunning = false): void {
    if (held.state === "OVER" || (held.state === "FINISHED" && state === "STARTED")) return;
    this.#count(held, -1);
    held.state = state;
    held.stillRunning = stillRunning;
    this.#count(held, 1);
  }

  /** The server is done with it; what its handler may still occupy is kept until `end`. */
  settle(held: Held, keepsSlot: boolean): void {
    if (held.state === "OVER") return;
    if (!keepsSlot) {
      this.delete(held.token);
      return;
    }
    this.#count(held, -1);
    held.state = "OVER";
    this.#count(held, 1);
  }

  /** Its handler has ended. */
  end(held: Held): void {
    if (held.state === "OVER") this.delete(held.token);
    else if (held.stillRunning) {
      this.#count(held, -1);
      held.stillRunning = false;
      this.#count(held, 1);
    }
  }

  /** @returns whether it was held */
  delete({ executionId, attempt }: Token): boolean {
    const first = this.#byExecution.get(executionId);
    if (first === undefined) return false;
    if (first.token.attempt === attempt) {
      if (first.other === null) this.#byExecution.delete(executionId);
      else this.#byExecution.set(executionId, first.other);
      this.#count(first, -1);
      return true;
    }
    let before = first;
    while (before.other !== null && before.other.token.attempt !== attempt) before = before.other;
    if (before.other === null) return false;
    this.#count(before.other, -1);
    before.other = before.other.other;
    return true;
  }

  /** Whether a result that came at that time or before is neither acknowledged nor refused. */
  hasResultOf(untilMs: number): boolean {
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
