import type { Evidence } from "../evidence.ts";
import { judge, type RuleName } from "../judge.ts";

/** Rules about faults that a run must show. */
export const NOT_SHOWN: readonly RuleName[] = [
  "faultsHappened",
  "zombiesCameBack",
  "attemptsOutliveTheServer",
  "stepsOutliveTheirWorker",
  "signalsComeAtAllTimes",
  "runsOutliveTheServer",
];

/**
 * Violations that the judge finds, without those for missing faults, because stories of tests are too short for all
 * faults.
 */
export function rulesBroken(evidence: Evidence): RuleName[] {
  const broken = new Set(judge(evidence, "crash").violations.map(({ rule }) => rule));
  for (const rule of NOT_SHOWN) broken.delete(rule);
  return [...broken];
}
