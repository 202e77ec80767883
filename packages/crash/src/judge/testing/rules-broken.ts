import type { Graph } from "../../history/workflow-events.ts";
import type { Evidence } from "../evidence.ts";
import { judge, type RuleName } from "../judge.ts";
import { Story } from "./story.ts";
import type { WorkflowStory } from "./workflow-story.ts";

/** Rules about faults that a run must show. */
export const NOT_SHOWN: readonly RuleName[] = [
  "faultsHappened",
  "zombiesCameBack",
  "attemptsOutliveTheServer",
  "stepsOutliveTheirWorker",
  "signalsComeAtAllTimes",
  "runsOutliveTheServer",
  "retriesHappened",
  "pausesHappened",
  "requestsMetFaults",
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

/** Violations of a story with one workflow, which is submitted at 0. @param tell tells the rest of its story */
export function brokenBy(graph: Graph, tell: (run: WorkflowStory) => unknown): RuleName[] {
  const story = new Story();
  tell(story.workflow("w", graph).submitted(0));
  return rulesBroken(story.evidence());
}
