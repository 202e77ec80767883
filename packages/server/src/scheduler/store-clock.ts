import type { Logger } from "pino";
import { ClockOffset } from "../domain/cluster/clock-offset.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import { sharedRun } from "./shared-run.ts";

/** Between two looks the bounds part by the drift that is allowed for: by less than half a millisecond. */
const EVERY_MS = 2_000;
/** A machine whose clock is further from the store's than this is told about it. */
const FAR_OFF_MS = 1_000;
const SAID_EVERY_MS = 3_600_000;

/** A leap that is shorter changes no duration by more than a slow network does. */
const LEAP_LEAST_MS = 100;

/** A runtime whose `now` is the store's clock, kept by asking it again and again. */
export interface StoreClock {
  runtime: Runtime;
  /**
   * Asks the store for its time, so that a clock that was just set is known once this resolves.
   * @throws {StoreUnavailable}
   */
  look(): Promise<void>;
  /** Calls the listener when the store's clock was set, before anybody else can read the new time. */
  onLeap(listener: LeapListener): void;
  stop(): void;
}

/** @param byMs how far the clock was set: forward, or back where it is negative */
export type LeapListener = (byMs: number) => void;

/** @throws {StoreUnavailable} if the store does not tell its time at the start */
export async function followStoreClock(store: Store, runtime: Runtime, log: Logger): Promise<StoreClock> {
  const offset = new ClockOffset();
  const warnings = new FarOffWarnings(log);
  const listeners: LeapListener[] = [];
  const sample = async () => {
    const askedAtMs = runtime.monotonicMs();
    const shownMs = await store.clock();
    const { isBelieved, leapMs } = offset.add({ askedAtMs, answeredAtMs: runtime.monotonicMs(), shownMs });
    if (!isBelieved) log.warn({ shownMs }, "the store's clock leapt forward; waiting for it to say so again");
    if (Math.abs(leapMs) >= LEAP_LEAST_MS) {
      log.warn({ byMs: Math.round(leapMs) }, "the store's clock was set; what runs goes on as if it had not been");
      for (const listener of listeners) listener(leapMs);
    }
    warnings.look(runtime.now() - shownMs, runtime.monotonicMs());
  };
  await sample();
  const stop = repeat(runtime, sample);
  const now = () => offset.earliest(runtime.monotonicMs()) ?? runtime.now();
  return {
    runtime: { ...runtime, now },
    look: sharedRun(sample),
    onLeap: (listener) => listeners.push(listener),
    stop,
  };
}

/** Says that this machine's clock is far off when it begins to be, and then now and then. */
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
      this.#log.warn({ offMs: Math.round(offMs) }, "this machine's clock is far from the store's, which counts");
    }
  }
}

function repeat(runtime: Runtime, run: () => Promise<void>): () => void {
  let stopped = false;
  let timer: Timer;
  const next = () => {
    if (stopped) return;
    timer = runtime.setTimer(EVERY_MS, () => {
      // An outage is reported by those who need the store; the clock goes on by what it knows.
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
