import type { Runtime } from "../runtime.ts";

/**
 * Length of a stall, in milliseconds, after which the server may regard a worker as lost and give its work to other
 * workers. A stall is a time in which the process stood still or had no server.
 */
const STALL_MS = 4_000;

/**
 * Memory that the session's thread and the handlers' thread share: the time of the last beat, and the number of stalls.
 */
export function stallCells(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(8));
}

const BEAT = 0;
const STALLS = 1;

/**
 * Detects that the whole process stood still (frozen, suspended, starved) or had no server for a while. The session
 * calls `beat` about once a second while it is connected. After a longer gap, neither thread knows what the server did
 * meanwhile. Times are whole milliseconds of the monotonic clock, cut to 32 bits; both threads read the same clock.
 */
export class StallGuard {
  readonly #cells: Int32Array;
  readonly #runtime: Pick<Runtime, "monotonicMs">;
  readonly #stallMs: number;
  #seen = 0;

  /**
   * @param stallMs length of a stall in milliseconds; Infinity for a clock that a test moves, which may leap although
   * the process runs
   */
  constructor(cells: Int32Array, runtime: Pick<Runtime, "monotonicMs">, stallMs: number = STALL_MS) {
    this.#cells = cells;
    this.#runtime = runtime;
    this.#stallMs = stallMs;
  }

  /** Called by the session at its start. */
  begin(): void {
    Atomics.store(this.#cells, BEAT, this.#nowMs);
  }

  /** Called by the session about once a second. @returns whether the process stood still since the last beat */
  beat(): boolean {
    const nowMs = this.#nowMs;
    const hasStalled = this.#isOld(nowMs);
    // The count of stalls grows before the beat is stored, so that a handlers' thread that sees the new beat sees the
    // stall too.
    if (hasStalled) Atomics.add(this.#cells, STALLS, 1);
    Atomics.store(this.#cells, BEAT, nowMs);
    return hasStalled;
  }

  /**
   * Called by the handlers' thread before it starts a handler. @returns whether the process stood still since the last
   * call
   */
  hasStalled(): boolean {
    const stalls = Atomics.load(this.#cells, STALLS);
    // The session has not noticed this stall yet; the session's next beat will count it.
    const isUnnoticed = this.#isOld(this.#nowMs) && Atomics.load(this.#cells, STALLS) === stalls;
    const expected = isUnnoticed ? stalls + 1 : stalls;
    if (expected <= this.#seen) return false;
    this.#seen = expected;
    return true;
  }

  #isOld(nowMs: number): boolean {
    const beatMs = Atomics.load(this.#cells, BEAT);
    // A beat of 0 means that the session has not begun.
    return beatMs !== 0 && ((nowMs - beatMs) | 0) > this.#stallMs;
  }

  /** Present time in milliseconds, never 0. */
  get #nowMs(): number {
    return Math.floor(this.#runtime.monotonicMs()) | 0 || 1;
  }
}
