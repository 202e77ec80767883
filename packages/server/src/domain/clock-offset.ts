import type { EpochMs } from "./ids.ts";

/** One look at another clock: it showed `shownMs` at some moment between two readings of the own monotonic clock. */
export interface ClockSample {
  askedAtMs: number;
  answeredAtMs: number;
  shownMs: number;
}

/** That clock's lead over the own monotonic clock lies between the two. */
export interface OffsetInterval {
  lowMs: number;
  highMs: number;
  /** When it was last narrowed, by the own monotonic clock. */
  atMs: number;
}

/** How far two clocks may drift apart: 200 parts in a million is worse than any that is not broken. */
const DRIFT = 200e-6;
/** A jump forward by more than this must be seen three times: it would let work begin early. */
const BELIEVED_JUMP_MS = 1_000;
const SAMPLES_FOR_A_JUMP = 3;

/**
 * Another clock, known as an interval from repeated samples.
 * Due times use the lower bound, so that nothing begins early.
 */
export class ClockOffset {
  #interval: OffsetInterval | null = null;
  #jumps = 0;

  /** @returns whether the sample was believed */
  add(sample: ClockSample): boolean {
    const seen = {
      lowMs: sample.shownMs - sample.answeredAtMs,
      highMs: sample.shownMs - sample.askedAtMs,
      atMs: sample.answeredAtMs,
    };
    const known = this.#interval === null ? null : widened(this.#interval, sample.answeredAtMs);
    if (known !== null && seen.lowMs > known.highMs + BELIEVED_JUMP_MS) {
      this.#jumps++;
      if (this.#jumps < SAMPLES_FOR_A_JUMP) return false;
    }
    this.#jumps = 0;
    this.#interval = known === null ? seen : narrowed(known, seen);
    return true;
  }

  /** The earliest that the other clock may show now; null before the first sample. */
  earliest(monotonicMs: number): EpochMs | null {
    if (this.#interval === null) return null;
    return Math.floor(monotonicMs + widened(this.#interval, monotonicMs).lowMs);
  }
}

function widened(interval: OffsetInterval, nowMs: number): OffsetInterval {
  const driftMs = Math.max(0, nowMs - interval.atMs) * DRIFT;
  return { lowMs: interval.lowMs - driftMs, highMs: interval.highMs + driftMs, atMs: nowMs };
}

/** Intersection of both ranges. Where they do not overlap, the clock was set, and the newer one is right. */
function narrowed(known: OffsetInterval, seen: OffsetInterval): OffsetInterval {
  const lowMs = Math.max(known.lowMs, seen.lowMs);
  const highMs = Math.min(known.highMs, seen.highMs);
  return lowMs <= highMs ? { lowMs, highMs, atMs: seen.atMs } : seen;
}
