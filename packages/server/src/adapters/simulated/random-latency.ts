import type { Fate, Latency } from "./fate.ts";

/** Both ends included, in milliseconds. */
type RangeMs = readonly [least: number, most: number];

/** How the store and the way to it are at the moment. May be changed at any time; what was sent before is not affected. */
export interface StoreWeather {
  /** The way there and the work. */
  requestMs: RangeMs;
  /** The way back. */
  answerMs: RangeMs;
  /** How long callers wait. */
  timeoutMs: number;
  /** Nobody answers: callers hear so at once or after up to `timeoutMs`. */
  isDown: boolean;
  /** How many of all calls, 0 to 1, befalls what; together at most 1. */
  shares: { slow: number; neverArrives: number; answerLost: number; late: number };
  /** How much longer a slow call is on its way, and how long after its time-out a late one is done. */
  slowMs: RangeMs;
}

/** A store that is well. */
export function fairWeather(): StoreWeather {
  return {
    requestMs: [0.2, 2],
    answerMs: [0.1, 1],
    timeoutMs: 12_000,
    isDown: false,
    shares: { slow: 0, neverArrives: 0, answerLost: 0, late: 0 },
    slowMs: [50, 5_000],
  };
}

/** Decides by dice, in the present weather. @param random evenly spread in [0, 1) */
export function diceLatency(random: () => number, weather: StoreWeather): Latency {
  const within = ([least, most]: RangeMs) => least + random() * (most - least);
  return () => {
    const { timeoutMs, shares } = weather;
    if (weather.isDown) return { effectAfterMs: null, answerAfterMs: null, givesUpAfterMs: random() * timeoutMs };
    const fate: Fate = {
      effectAfterMs: within(weather.requestMs),
      answerAfterMs: within(weather.answerMs),
      givesUpAfterMs: timeoutMs,
    };
    let roll = random();
    const befalls = (share: number) => {
      const is = roll >= 0 && roll < share;
      roll -= share;
      return is;
    };
    const effectAfterMs = fate.effectAfterMs as number;
    if (befalls(shares.slow)) return { ...fate, effectAfterMs: effectAfterMs + within(weather.slowMs) };
    if (befalls(shares.neverArrives)) return { ...fate, effectAfterMs: null };
    if (befalls(shares.late)) return { ...fate, effectAfterMs: timeoutMs + within(weather.slowMs) };
    if (!befalls(shares.answerLost)) return fate;
    // The connection breaks at some time after, or nobody notices that it has until the time is up.
    const givesUpAfterMs = effectAfterMs + random() * Math.max(0, timeoutMs - effectAfterMs);
    return { ...fate, answerAfterMs: null, givesUpAfterMs };
  };
}

/** Answers at once while the store is up, and throws no dice, so that what it is used for shifts nothing else. */
export function latencyAtOnce(weather: Pick<StoreWeather, "isDown">): Latency {
  const down: Fate = { effectAfterMs: null, answerAfterMs: null, givesUpAfterMs: 1_000 };
  const up: Fate = { effectAfterMs: 0, answerAfterMs: 0, givesUpAfterMs: 1_000 };
  return () => (weather.isDown ? down : up);
}
