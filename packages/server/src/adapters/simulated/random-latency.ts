import type { Fate, Latency, StoreOperation } from "./fate.ts";

/** Range in milliseconds, both ends included. */
type RangeMs = readonly [least: number, most: number];

/**
 * Present faults of the store and its network. They may change at any time; calls that were sent before are not
 * affected.
 */
export interface StoreFaultProfile {
  /** Time of the request's way and of the work. */
  requestMs: RangeMs;
  /** Time of the answer's way. */
  answerMs: RangeMs;
  /** Timeout of callers, in milliseconds. */
  timeoutMs: number;
  /** Whether the store is down: callers get an error at once or after up to `timeoutMs`. */
  isDown: boolean;
  /** Whether no replica confirms writes: they take effect, and callers get an error after a second. */
  isUnconfirmed: boolean;
  /** Share of all calls that suffer each fault, 0 to 1; together at most 1. */
  shares: { slow: number; neverArrives: number; answerLost: number; late: number };
  /** Additional time of a slow call, and time from a late call's timeout to its effect. */
  slowMs: RangeMs;
}

/** Operations that are answered when the replicas have confirmed them. A repeated submission waits for the first one's write, too. */
const CONFIRMED: ReadonlySet<StoreOperation> = new Set([
  ...(["submit", "answered", "commit", "takeOver", "releaseShards", "addCommand", "putPool", "retry"] as const),
  ...(["replace", "putNamed", "delete", "run", "order", "settle", "addSignal", "takeIn"] as const),
]);
/** Longest wait for the replicas, in milliseconds. */
const CONFIRM_MS = 1_000;

/** Profile of a store without faults. */
export function noFaults(): StoreFaultProfile {
  return {
    requestMs: [0.2, 2],
    answerMs: [0.1, 1],
    timeoutMs: 12_000,
    isDown: false,
    isUnconfirmed: false,
    shares: { slow: 0, neverArrives: 0, answerLost: 0, late: 0 },
    slowMs: [50, 5_000],
  };
}

/** Chooses fates at random, by the present fault profile. @param random random number, evenly spread in [0, 1) */
export function randomLatency(random: () => number, profile: StoreFaultProfile): Latency {
  const within = ([least, most]: RangeMs) => least + random() * (most - least);
  return ({ operation }) => {
    const { timeoutMs, shares } = profile;
    if (profile.isDown) return { effectAfterMs: null, answerAfterMs: null, givesUpAfterMs: random() * timeoutMs };
    const fate: Fate = {
      effectAfterMs: within(profile.requestMs),
      answerAfterMs: within(profile.answerMs),
      givesUpAfterMs: timeoutMs,
    };
    if (profile.isUnconfirmed && CONFIRMED.has(operation))
      return { ...fate, answerAfterMs: null, givesUpAfterMs: (fate.effectAfterMs as number) + CONFIRM_MS };
    let roll = random();
    const befalls = (share: number) => {
      const is = roll >= 0 && roll < share;
      roll -= share;
      return is;
    };
    const effectAfterMs = fate.effectAfterMs as number;
    if (befalls(shares.slow)) return { ...fate, effectAfterMs: effectAfterMs + within(profile.slowMs) };
    if (befalls(shares.neverArrives)) return { ...fate, effectAfterMs: null };
    if (befalls(shares.late)) return { ...fate, effectAfterMs: timeoutMs + within(profile.slowMs) };
    if (!befalls(shares.answerLost)) return fate;
    // The connection breaks at some time after the effect, or the caller notices nothing until its timeout.
    const givesUpAfterMs = effectAfterMs + random() * Math.max(0, timeoutMs - effectAfterMs);
    return { ...fate, answerAfterMs: null, givesUpAfterMs };
  };
}

/** Answers at once while the store is up, and draws no random number, so that its use does not shift other draws. */
export function latencyAtOnce(profile: Pick<StoreFaultProfile, "isDown">): Latency {
  const down: Fate = { effectAfterMs: null, answerAfterMs: null, givesUpAfterMs: 1_000 };
  const up: Fate = { effectAfterMs: 0, answerAfterMs: 0, givesUpAfterMs: 1_000 };
  return () => (profile.isDown ? down : up);
}
