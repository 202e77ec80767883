import type { EpochMs } from "../ids.ts";

/**
 * One reading of another clock: the clock showed `shownMs` at some moment between two readings of the own monotonic
 * clock.
 */
export interface ClockSample {
  askedAtMs: number;
  answeredAtMs: number;
  shownMs: number;
}

/** Bounds of the other clock's lead over the own monotonic clock, in ms. */
export interface OffsetInterval {
  lowMs: number;
  highMs: number;
  /** Time at which the bounds were last narrowed, on the own monotonic clock. */
  atMs: number;
}

/** Result of a sample. */
export interface Verdict {
  /** false: the clock seems to have leapt forward, and the next samples decide. */
  isBelieved: boolean;
  /** Milliseconds by which the clock was set since the last believed sample, negative for back; 0: it was not set. */
  leapMs: number;
}

/** Allowed drift between two clocks: 200 parts in a million, which is more than that of any intact clock. */
const DRIFT = 200e-6;
/** A jump forward by more than this is believed only after three samples, because it lets work start early. */
const BELIEVED_JUMP_MS = 1_000;
const SAMPLES_FOR_A_JUMP = 3;

/**
 * Estimate of another clock, kept as an interval from repeated samples.
 * Due times use the lower bound, so that no work starts early.
 */
export class ClockOffset {
  #interval: OffsetInterval | null = null;
  #jumps = 0;

  add(sample: ClockSample): Verdict {
    const seen = {
      lowMs: sample.shownMs - sample.answeredAtMs,
      highMs: sample.shownMs - sample.askedAtMs,
      atMs: sample.answeredAtMs,
    };
    const known = this.#interval === null ? null : widened(this.#interval, sample.answeredAtMs);
    if (known !== null && seen.lowMs > known.highMs + BELIEVED_JUMP_MS) {
      this.#jumps++;
      if (this.#jumps < SAMPLES_FOR_A_JUMP) return { isBelieved: false, leapMs: 0 };
    }
    this.#jumps = 0;
    const both = known === null ? null : overlapOf(known, seen);
    this.#interval = both ?? seen;
    return { isBelieved: true, leapMs: known === null || both !== null ? 0 : seen.lowMs - known.lowMs };
  }

  /** Earliest time that the other clock may show now; null before the first sample. */
  earliest(monotonicMs: number): EpochMs | null {
    if (this.#interval === null) return null;
    return Math.floor(monotonicMs + widened(this.#interval, monotonicMs).lowMs);
  }
}

function widened(interval: OffsetInterval, nowMs: number): OffsetInterval {
  const driftMs = Math.max(0, nowMs - interval.atMs) * DRIFT;
  return { lowMs: interval.lowMs - driftMs, highMs: interval.highMs + driftMs, atMs: nowMs };
}

/** @returns null: the ranges do not overlap, so the clock was set, and the newer range is right */
function overlapOf(known: OffsetInterval, seen: OffsetInterval): OffsetInterval | null {
  const lowMs = Math.max(known.lowMs, seen.lowMs);
  const highMs = Math.min(known.highMs, seen.highMs);
  return lowMs <= highMs ? { lowMs, highMs, atMs: seen.atMs } : null;
}
