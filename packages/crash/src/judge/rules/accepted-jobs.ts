import type { Ordered } from "../case.ts";
import type { Rule } from "./rule.ts";

/** An accepted job is never lost. */
export const acceptedJobsExist: Rule = ({ orders, executions }) =>
  [...orders].flatMap(([key, { answers }]) =>
    answers
      .filter(({ executionId }) => !executions.has(executionId))
      .map(({ executionId }) => `job ${key} was accepted as execution ${executionId}, which does not exist`),
  );

/** Every execution ends in a final state once faults stop. */
export const everythingIsFinal: Rule = ({ evidence }) => {
  const findings = evidence.executions
    .filter(({ state }) => !["SUCCEEDED", "CANCELLED", "DEAD", "SKIPPED"].includes(state))
    .map(({ executionId, state, reason }) => `execution ${executionId} is ${state} (${reason ?? "no reason"})`);
  if (evidence.activeJobs > 0) findings.push(`${evidence.activeJobs} jobs are still ACTIVE`);
  return findings;
};

/**
 * An accepted order takes effect once. An order without an answer takes effect at most once, and a refused order never.
 */
export const ordersTakeEffectOnce: Rule = ({ orders, evidence, flowIds }) => {
  const made = Map.groupBy(evidence.executions, ({ key }) => key);
  const recurring = new Set(evidence.recurring.map(({ jobId }) => jobId));
  const unasked = evidence.executions
    .filter(({ jobId }) => !recurring.has(jobId))
    .filter(({ executionId }) => !flowIds.runs.has(executionId) && !flowIds.nodes.has(executionId))
    .filter(({ key }) => key === null || !orders.has(key))
    .map(({ executionId, key }) => `nobody asked for execution ${executionId} (${key})`);
  const wrong = [...orders].flatMap(([key, order]) => {
    const ids = (made.get(key) ?? []).map(({ executionId }) => executionId);
    const why = wrongEffect(order, ids);
    return why === null ? [] : [`job ${key} (${order.intended.kind}) ${why}`];
  });
  return [...unasked, ...wrong];
};

function wrongEffect({ answers, refusals }: Ordered, made: readonly string[]): string | null {
  const [refusal] = refusals;
  if (refusal !== undefined) return `was refused: ${refusal.message}`;
  if (made.length > 1) return `was made ${made.length} times: ${made.join(", ")}`;
  const [first] = answers;
  if (first === undefined) return null;
  const other = answers.find(({ executionId }) => executionId !== first.executionId);
  if (other !== undefined) return `was answered with ${first.executionId}, then with ${other.executionId}`;
  if (first.deduplicated) return made.length === 0 ? null : `was said to be there already, and made as ${made[0]}`;
  if (made[0] === first.executionId) return null;
  return `was answered with ${first.executionId}, and is ${made[0] ?? "nowhere"}`;
}
