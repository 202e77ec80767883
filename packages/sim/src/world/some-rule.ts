import type { Dice } from "../dice.ts";
import { EPOCH_MS } from "../sim-process.ts";
import type { ReceivedJob } from "./some-definition.ts";

type Job = ReceivedJob["job"];
/** How a job recurs, in the words of the api. */
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

/** In the first hour of simulated time the clocks of all but the last are set: forward, back, and back from an odd offset. */
const ZONES = ["America/Cuiaba", "America/Miquelon", "America/St_Johns", "UTC"] as const;
/** Hours on the walls of those zones about then. */
const HOURS = ["0", "0,1", "1", "1,2", "0-2", "23,0", "2,3", "3,4"] as const;

/**
 * A rule of the dice's choosing, of which something is due every few minutes at the most often.
 * @param endMs of simulated time: nothing is planned from then on
 */
export function someRule(dice: Dice, endMs: number): SomeRule {
  return {
    ...someTimes(dice),
    endAt: new Date(EPOCH_MS + endMs).toISOString(),
    ...(dice.chance(0.1) && { maxFires: dice.between(1, 8) }),
    ...(dice.chance(0.2) && { spreadSec: dice.between(1, 120) }),
    overlap: dice.pick(["ALLOW", "SKIP", "BUFFER_ONE", "CANCEL_PREVIOUS"] as const),
    misfire: dice.pick(["SKIP", "FIRE_ONCE", "FIRE_ALL"] as const),
    misfireGraceSec: dice.pick([0, 2, 10, 60]),
    maxCatchUp: dice.pick([1, 3, 100]),
    ...(dice.chance(0.1) && { startWithinSec: dice.between(1, 20) }),
  };
}

function someTimes(dice: Dice): SomeRule {
  if (dice.chance(0.25)) {
    return { everySec: dice.between(3, 120), everyMode: dice.pick(["FIXED_RATE", "FIXED_DELAY"] as const) };
  }
  const dst = { gap: dice.pick(["SHIFT", "SKIP"] as const), fold: dice.pick(["FIRST", "LAST", "BOTH"] as const) };
  return { schedule: someCron(dice), timezone: dice.pick(ZONES), dst };
}

function someCron(dice: Dice): string {
  const minutes = Array.from({ length: dice.between(1, 6) }, () => dice.between(0, 59));
  const list = [...new Set(minutes)].sort((a, b) => a - b).join();
  if (dice.chance(0.6)) return `${list} ${dice.pick(HOURS)} * * *`;
  return dice.pick([`*/${dice.between(1, 7)} * * * *`, `${list} * * * *`, `${dice.between(0, 59)} * * * * *`]);
}
