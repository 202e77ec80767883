import type { EpochMs } from "../ids.ts";

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

/** Judgement of a sample. */
export interface Verdict {
  /** false: the clock seems to have leapt forward, and the next samples decide. */
  isBelieved: boolean;
  /** How far the clock was set, forward or back, since the last believed sample; 0: it went on as it was. */
  leapMs: number;
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

/** @returns null: the ranges do not overlap, so the clock was set, and the newer range is right */
function overlapOf(known: OffsetInterval, seen: OffsetInterval): OffsetInterval | null {
  const lowMs = Math.max(known.lowMs, seen.lowMs);
  const highMs = Math.min(known.highMs, seen.highMs);
  return lowMs <= highMs ? { lowMs, highMs, atMs: seen.atMs } : null;
}
