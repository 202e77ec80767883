import type { RuleName } from "./judge/judge.ts";
import type { Report } from "./play.ts";

/** Largest number of runs in which everything must have been seen. */
const RUNS_MAX = 3;

/**
 * Rules that demand that a run shows something, such as a late result of a worker that was declared lost. The timing of
 * the machine decides whether one run shows it.
 */
const SIGHTINGS: ReadonlySet<string> = new Set<RuleName>([
  "faultsHappened",
  "kafkaCarriedTheBus",
  "attemptsOutliveTheStore",
  "attemptsOutliveTheServer",
  "zombiesCameBack",
  "stepsOutliveTheirWorker",
  "signalsComeAtAllTimes",
  "runsOutliveTheServer",
  "retriesHappened",
  "pausesHappened",
  "requestsMetFaults",
  "recordsMetFaults",
]);

/**
 * Runs with a seed, and with the next seeds while the runs together have not shown everything that they must show.
 * @param run plays one run, and reports it to the caller
 * @returns the last report; its violations lack the sightings that an earlier run had
 */
export async function untilAllIsSeen(seed: number, run: (seed: number) => Promise<Report>): Promise<Report> {
  let unseen = new Set(SIGHTINGS);
  for (let count = 1; ; count++) {
    const report = await run(seed + count - 1);
    const isBroken = report.violations.some(({ rule }) => !SIGHTINGS.has(rule));
    const missing = new Set(report.violations.map(({ rule }) => rule));
    unseen = new Set([...unseen].filter((rule) => missing.has(rule)));
    if (isBroken || unseen.size === 0 || count === RUNS_MAX) {
      return {
        ...report,
        violations: report.violations.filter(({ rule }) => !SIGHTINGS.has(rule) || unseen.has(rule)),
      };
    }
  }
}
