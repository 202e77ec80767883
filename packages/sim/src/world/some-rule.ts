import type { SeededRandom } from "@mainspring/testkit/time";
import { EPOCH_MS } from "../sim-process.ts";
import type { ReceivedJob } from "./some-definition.ts";

type Job = ReceivedJob["job"];
/** Recurrence of a job in the API's form. */
export type SomeRule = Pick<
  Job,
  | "schedule"
  | "timezone"
  | "dst"
  | "everySec"
  | "everyMode"
  | "endAt"
  | "maxFires"
  | "spreadSec"
  | "overlap"
  | "misfire"
  | "misfireGraceSec"
  | "maxCatchUp"
  | "startWithinSec"
>;

/**
 * Zones of the recurring jobs. In the first hour of simulated time, the clocks of all but the last change: forward,
 * back, and back from an odd offset.
 */
const ZONES = ["America/Cuiaba", "America/Miquelon", "America/St_Johns", "UTC"] as const;
/** Local hours of those zones at about that time. */
const HOURS = ["0", "0,1", "1", "1,2", "0-2", "23,0", "2,3", "3,4"] as const;

/** Largest `maxCatchUp` of a rule. */
export const CATCH_UP_MAX = 100;

/**
 * Creates a random rule with instants every few minutes at most.
 * @param endMs end of all plans, in simulated milliseconds
 */
export function someRule(random: SeededRandom, endMs: number): SomeRule {
  return {
    ...someTimes(random),
    endAt: new Date(EPOCH_MS + endMs).toISOString(),
    ...(random.chance(0.1) && { maxFires: random.between(1, 8) }),
    ...(random.chance(0.2) && { spreadSec: random.between(1, 120) }),
    overlap: random.pick(["ALLOW", "SKIP", "BUFFER_ONE", "CANCEL_PREVIOUS"] as const),
    misfire: random.pick(["SKIP", "FIRE_ONCE", "FIRE_ALL"] as const),
    misfireGraceSec: random.pick([0, 2, 10, 60]),
    maxCatchUp: random.pick([1, 3, CATCH_UP_MAX]),
    ...(random.chance(0.1) && { startWithinSec: random.between(1, 20) }),
  };
}

function someTimes(random: SeededRandom): SomeRule {
  if (random.chance(0.25)) {
    return { everySec: random.between(3, 120), everyMode: random.pick(["FIXED_RATE", "FIXED_DELAY"] as const) };
  }
  const dst = { gap: random.pick(["SHIFT", "SKIP"] as const), fold: random.pick(["FIRST", "LAST", "BOTH"] as const) };
  return { schedule: someCron(random), timezone: random.pick(ZONES), dst };
}

function someCron(random: SeededRandom): string {
  const minutes = Array.from({ length: random.between(1, 6) }, () => random.between(0, 59));
  const list = [...new Set(minutes)].sort((a, b) => a - b).join();
  if (random.chance(0.6)) return `${list} ${random.pick(HOURS)} * * *`;
  return random.pick([`*/${random.between(1, 7)} * * * *`, `${list} * * * *`, `${random.between(0, 59)} * * * * *`]);
}
