import type { Session } from "../connection/connections.ts";

/**
 * SQL for the payload of a job's execution: that of the job, at the version by which the execution runs.
 * @param e,j aliases of the execution and its job in the statement
 */
export function payloadOf(e: string, j: string): string {
  return `CASE WHEN ${e}.job_version = ${j}.version THEN ${j}.payload ELSE
    (SELECT p.payload FROM job_payloads p WHERE p.job_id = ${e}.job_id AND p.version = ${e}.job_version) END`;
}

/**
 * SQL for the payload of the execution of a node: that of the node, in the version of the workflow by which its run runs.
 * The form leaves the planner only the primary keys.
 * @param e alias of the execution in the statement
 */
export function payloadOfNode(e: string): string {
  return `coalesce((SELECT (
      SELECT w.payload FROM workflow_payloads w
      WHERE w.job_id = ${workflowOf("r")} AND w.version = r.job_version AND w.node = ${e}.node
    ) FROM executions r WHERE r.id = ${e}.job_id),
    (SELECT p.payload FROM workflow_part_payloads p WHERE p.run = ${e}.job_id AND p.node = ${e}.node))`;
}

/**
 * SQL expression: key of the workflow of a run.
 * @param r alias of the execution of the run in the statement
 */
function workflowOf(r: string): string {
  return `CASE WHEN ${r}.node >= 0 THEN (SELECT x.workflow FROM workflow_runs x WHERE x.run = ${r}.id) ELSE ${r}.job_id END`;
}

const KEEP = "INSERT INTO job_payloads (job_id, version, payload) SELECT id, version, payload FROM jobs WHERE id = $1";

/** Keeps a job's payload before the job gets another one. */
export async function keepPayload(session: Session, jobId: string): Promise<void> {
  await session.run({ name: "keep_payload", text: KEEP, values: [jobId] });
}
