import type { Logger } from "pino";
import { ClockOffset } from "../domain/cluster/clock-offset.ts";
import { patiently } from "../patience.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import { sharedRun } from "./shared-run.ts";

/**
 * Interval in ms between two readings of the store's clock. The uncertainty that drift adds in between is below half a
 * millisecond.
 */
const EVERY_MS = 2_000;
/** Difference in ms between this machine's clock and the store's above which a warning is logged. */
const FAR_OFF_MS = 1_000;
const SAID_EVERY_MS = 3_600_000;

/** Smallest leap in ms that is handled. A shorter one changes durations no more than a slow network does. */
const LEAP_LEAST_MS = 100;

/** A runtime whose `now` is the store's clock, estimated from regular readings. */
export interface StoreClock {
  runtime: Runtime;
  /**
   * Reads the store's clock, so that a clock that was just set is known when the call resolves.
   * @throws {StoreUnavailable}
   */
  look(): Promise<void>;
  /** Registers a listener for the setting of the store's clock. The listener is called before the new time is used. */
  onLeap(listener: LeapListener): void;
  stop(): void;
}

/** @param byMs milliseconds by which the clock was set; negative: back */
export type LeapListener = (byMs: number) => void;

/** @throws {StoreUnavailable} if the store does not tell its time for a minute at the start */
export async function followStoreClock(store: Store, runtime: Runtime, log: Logger): Promise<StoreClock> {
  const offset = new ClockOffset();
  const warnings = new FarOffWarnings(log);
  const listeners: LeapListener[] = [];
  const sample = async () => {
    const askedAtMs = runtime.monotonicMs();
    const shownMs = await store.clock();
    const { isBelieved, leapMs } = offset.add({ askedAtMs, answeredAtMs: runtime.monotonicMs(), shownMs });
    if (!isBelieved)
      log.warn({ shownMs }, "the store's clock seems to have leapt forward; the node waits for further readings");
    if (Math.abs(leapMs) >= LEAP_LEAST_MS) {
      log.warn(
        { byMs: Math.round(leapMs) },
        "the store's clock was set; running attempts and timers continue as before",
      );
      for (const listener of listeners) listener(leapMs);
    }
    warnings.look(runtime.now() - shownMs, runtime.monotonicMs());
  };
  // Readings do not overlap: one from before a leap must not arrive after one from behind it.
  const look = sharedRun(sample);
  await patiently("the store's clock", look, { runtime, log });
  const stop = repeat(runtime, look);
  const now = () => offset.earliest(runtime.monotonicMs()) ?? runtime.now();
  return {
    runtime: { ...runtime, now },
    look,
    onLeap: (listener) => listeners.push(listener),
    stop,
  };
}

/** Warns that this machine's clock is far off when the difference first appears, and hourly after that. */
class FarOffWarnings {
  readonly #log: Logger;
  #saidMs = Number.NEGATIVE_INFINITY;

  constructor(log: Logger) {
    this.#log = log;
  }

  look(offMs: number, monotonicMs: number): void {
    if (Math.abs(offMs) <= FAR_OFF_MS) this.#saidMs = Number.NEGATIVE_INFINITY;
    else if (monotonicMs - this.#saidMs >= SAID_EVERY_MS) {
      this.#saidMs = monotonicMs;
      this.#log.warn(
        { offMs: Math.round(offMs) },
        "this machine's clock is far from the store's; the node uses the store's clock",
      );
    }
  }
}

function repeat(runtime: Runtime, run: () => Promise<void>): () => void {
  let stopped = false;
  let timer: Timer;
  const next = () => {
    if (stopped) return;
    timer = runtime.setTimer(EVERY_MS, () => {
      // Callers of the store report an outage; the clock continues from its last estimate.
      run()
        .catch(() => undefined)
        .finally(next);
    });
  };
  next();
  return () => {
    stopped = true;
    timer.cancel();
  };
}
