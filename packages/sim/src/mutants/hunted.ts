import { simulate } from "../simulate.ts";
import type { MoreFaults } from "./mutant.ts";

/** The simulation that mutants are hunted with. */
const HUNTED = { hours: 1, nodes: 3, workers: 10, jobs: 2_000 } as const;
export const HOUR_SEC = 3_600;
/** A violation that shows when all has come to rest may show as well after fewer events. */
const SHORTER_SEC = [60, 180, 600, 1_800];

/** A seed, or the beginning of what it plans. */
export interface Tried {
  seed: number;
  /** Simulated time, after which there are no more faults and no new work: the rest of the hour need not be waited for. */
  untilSec: number;
}

export interface Caught extends Tried {
  violation: string;
  /** null: the program itself failed. */
  checker: string | null;
  /** Simulated time until then. */
  afterMs: number;
}

/** Runs a seed. @param untilSec what it plans beyond that is left out; the rest stays as it is */
export async function tried(seed: number, untilSec: number, more: MoreFaults = {}): Promise<Caught | null> {
  const { waysBack, tzChanges } = more;
  const faults = { ...(waysBack && { waysBack }), ...(tzChanges && { tzChanges }) };
  const world = { ...HUNTED, ...faults, only: { untilMs: untilSec * 1_000 } };
  const { violation, checker, simulatedMs } = await simulate({ seed, ...world });
  if (violation === null) return null;
  const neededSec = Math.min(untilSec, Math.ceil(simulatedMs / 1_000));
  return { seed, untilSec: neededSec, violation, checker, afterMs: simulatedMs };
}

/** The same catch, of as short a time of faults as still shows it. */
export async function shortened(caught: Caught, more: MoreFaults = {}): Promise<Caught> {
  // It was seen while there were faults: the time until then is what it takes.
  if (caught.afterMs <= caught.untilSec * 1_000) return caught;
  for (const untilSec of SHORTER_SEC.filter((sec) => sec < caught.untilSec)) {
    const again = await tried(caught.seed, untilSec, more);
    if (again !== null && again.checker === caught.checker) return again;
  }
  return caught;
}
