import { simulate } from "../simulate.ts";
import type { MoreFaults } from "./mutant.ts";

/** Simulation for the hunt. */
const HUNTED = { hours: 1, nodes: 3, workers: 10, jobs: 2_000 } as const;
export const HOUR_SEC = 3_600;
/**
 * Shorter times of faults, in seconds. A violation that shows when everything has come to rest may also show after
 * fewer events.
 */
const SHORTER_SEC = [60, 180, 600, 1_800];

/** A seed, with the simulated time of its plan. */
export interface Tried {
  seed: number;
  /**
   * Simulated time after which there are no more faults and no new work, in seconds, so that the rest of the hour need
   * not be run.
   */
  untilSec: number;
}

export interface Caught extends Tried {
  violation: string;
  /** Checker that found the violation; null: the program itself failed. */
  checker: string | null;
  /** Simulated time until then, in milliseconds. */
  afterMs: number;
}

/** Runs a seed. @param untilSec end of the faults and new work of the plan, in seconds; the rest stays the same */
export async function tried(seed: number, untilSec: number, more: MoreFaults = {}): Promise<Caught | null> {
  const { waysBack, tzChanges } = more;
  const faults = { ...(waysBack && { waysBack }), ...(tzChanges && { tzChanges }) };
  const world = { ...HUNTED, ...faults, only: { untilMs: untilSec * 1_000 } };
  const { violation, checker, simulatedMs } = await simulate({ seed, ...world });
  if (violation === null) return null;
  const neededSec = Math.min(untilSec, Math.ceil(simulatedMs / 1_000));
  return { seed, untilSec: neededSec, violation, checker, afterMs: simulatedMs };
}

/** The same catch, with the shortest time of faults that still shows it. */
export async function shortened(caught: Caught, more: MoreFaults = {}): Promise<Caught> {
  // The violation occurred while there were faults, so the time until then is the time needed.
  if (caught.afterMs <= caught.untilSec * 1_000) return caught;
  for (const untilSec of SHORTER_SEC.filter((sec) => sec < caught.untilSec)) {
    const again = await tried(caught.seed, untilSec, more);
    if (again !== null && again.checker === caught.checker) return again;
  }
  return caught;
}
