import type { Rule } from "./rule.ts";

const NAMED_MAX = 5;

/** ClickHouse, or the topic of events, has the end of every execution, whatever happened to it and to Kafka meanwhile. */
export const replicaIsComplete: Rule = ({ evidence: { endsInReplica, executions } }) => {
  if (endsInReplica === null) return [];
  const missing = executions.filter(({ executionId }) => !endsInReplica.has(executionId));
  if (missing.length === 0) return [];
  const some = missing.slice(0, NAMED_MAX).map(({ executionId, state }) => `${executionId} (${state})`);
  return [`the replica lacks the ends of ${missing.length} of ${executions.length} executions: ${some.join(", ")}`];
};
