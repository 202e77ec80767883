import type { StartedReport } from "../session/work.ts";

/** Bytes of an entry: start time (float64), attempt and length of the id (int32), id. */
const ENTRY_BYTES = 64;
const ID_AT = 16;
const ID_MAX_BYTES = ENTRY_BYTES - ID_AT;
const WRITTEN = 0;
const REPORTED = 1;

/**
 * Ring buffer in memory that the handlers' thread shares with the session's thread. The handlers' thread writes each
 * start there before it calls the handler. A handler that blocks the event loop keeps the report of its own start, and
 * of earlier starts in the same turn, from being sent; the session reads these starts here instead. Only the last
 * entries of the ring are valid.
 */
export class StartBoard {
  readonly memory: SharedArrayBuffer;
  readonly #counts: Int32Array;
  readonly #bytes: Buffer;
  readonly #ring: number;
  /** Number of starts at the last call of `stale()`, and number of starts that `stale()` has returned. */
  #seen = 0;
  #told = 0;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.#counts = new Int32Array(memory, 0, 2);
    this.#bytes = Buffer.from(memory, ENTRY_BYTES);
    this.#ring = memory.byteLength / ENTRY_BYTES - 1;
  }

  /** @param slots number of handlers that run at once */
  static of(slots: number): StartBoard {
    // A power of two keeps the index of an entry right when the counts overflow.
    const ring = 2 ** Math.ceil(Math.log2(slots + 1));
    return new StartBoard(new SharedArrayBuffer((ring + 1) * ENTRY_BYTES));
  }

  /** Called by the handlers' thread before it calls a handler. */
  add({ executionId, attempt, startedAtMs }: StartedReport): void {
    const written = Atomics.load(this.#counts, WRITTEN);
    const at = this.#at(written);
    const fits = executionId.length <= ID_MAX_BYTES;
    this.#bytes.writeDoubleLE(startedAtMs, at);
    this.#bytes.writeInt32LE(attempt, at + 8);
    this.#bytes.writeInt32LE(fits ? executionId.length : 0, at + 12);
    if (fits) this.#bytes.write(executionId, at + ID_AT, "latin1");
    Atomics.store(this.#counts, WRITTEN, (written + 1) | 0);
  }

  /** Called by the handlers' thread when it reports all starts until now. */
  reported(): void {
    Atomics.store(this.#counts, REPORTED, Atomics.load(this.#counts, WRITTEN));
  }

  /**
   * Called by the session at regular intervals. @returns starts that were there at the last call already and are not
   * reported; each start is returned once
   */
  stale(): StartedReport[] {
    const written = Atomics.load(this.#counts, WRITTEN);
    const until = this.#seen;
    this.#seen = written;
    let from = later(Atomics.load(this.#counts, REPORTED), this.#told);
    // The handlers' thread may be writing the entry after the last one at this moment.
    from = later(from, (written - this.#ring + 1) | 0);
    const found: StartedReport[] = [];
    for (let entry = from; ((until - entry) | 0) > 0; entry = (entry + 1) | 0) found.push(...this.#read(entry));
    // The event loop of the handlers is running, so it reports its starts itself.
    if (Atomics.load(this.#counts, WRITTEN) !== written) return [];
    this.#told = later(from, until);
    return found;
  }

  #read(entry: number): StartedReport[] {
    const at = this.#at(entry);
    const length = this.#bytes.readInt32LE(at + 12);
    if (length === 0) return [];
    const executionId = this.#bytes.toString("latin1", at + ID_AT, at + ID_AT + length);
    return [{ executionId, attempt: this.#bytes.readInt32LE(at + 8), startedAtMs: this.#bytes.readDoubleLE(at) }];
  }

  #at(entry: number): number {
    return ((entry >>> 0) % this.#ring) * ENTRY_BYTES;
  }
}

/** Whichever of two counts is later, where both may have overflowed. */
function later(one: number, other: number): number {
  return ((one - other) | 0) > 0 ? one : other;
}
