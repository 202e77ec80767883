import type { Runtime } from "./runtime.ts";

/** A worker that stood still, or had no server, for longer than this may be lost, and its work given to other workers. */
const STALL_MS = 4_000;

/** Memory that the session's thread and the handlers' thread share: the time of the last beat, and the number of stalls. */
export function stallCells(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(8));
}

const BEAT = 0;
const STALLS = 1;

/**
 * Notices that the whole process stood still (frozen, suspended, starved) or had no server for a while. The session beats about
 * once a second while it is connected; after a longer gap neither thread can know what the server did meanwhile. Times are whole
 * milliseconds of the monotonic clock, cut to 32 bits; both threads read the same clock.
 */
export class StallGuard {
  readonly #cells: Int32Array;
  readonly #runtime: Pick<Runtime, "monotonicMs">;
  readonly #stallMs: number;
  #seen = 0;

  /** @param stallMs Infinity for a clock that a test moves: it may leap although the process runs */
  constructor(cells: Int32Array, runtime: Pick<Runtime, "monotonicMs">, stallMs: number = STALL_MS) {
    this.#cells = cells;
    this.#runtime = runtime;
    this.#stallMs = stallMs;
  }

  /** For the session, at its start. */
  begin(): void {
    Atomics.store(this.#cells, BEAT, this.#nowMs);
  }

  /** For the session. @returns whether the process stood still since the last beat */
  beat(): boolean {
    const nowMs = this.#nowMs;
    const hasStalled = this.#isOld(nowMs);
    // First: a handlers' thread that sees the new beat sees the stall too.
    if (hasStalled) Atomics.add(this.#cells, STALLS, 1);
    Atomics.store(this.#cells, BEAT, nowMs);
    return hasStalled;
  }

  /** For the handlers' thread, before it starts anything. @returns whether the process stood still since it asked last */
  hasStalled(): boolean {
    const stalls = Atomics.load(this.#cells, STALLS);
    // The session has not noticed yet, and will count it.
    const isUnnoticed = this.#isOld(this.#nowMs) && Atomics.load(this.#cells, STALLS) === stalls;
    const expected = isUnnoticed ? stalls + 1 : stalls;
    if (expected <= this.#seen) return false;
    this.#seen = expected;
    return true;
  }

  #isOld(nowMs: number): boolean {
    const beatMs = Atomics.load(this.#cells, BEAT);
    // 0: the session has not begun.
    return beatMs !== 0 && ((nowMs - beatMs) | 0) > this.#stallMs;
  }

  /** Never 0. */
  get #nowMs(): number {
    return Math.floor(this.#runtime.monotonicMs()) | 0 || 1;
  }
}
