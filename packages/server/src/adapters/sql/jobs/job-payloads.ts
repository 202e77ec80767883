import type { Session } from "../connection/connections.ts";

/**
 * SQL for the payload of an execution: that of its job, at the version by which the execution runs.
 * @param e,j aliases of the execution and its job in the statement
 */
export function payloadOf(e: string, j: string): string {
  return `CASE WHEN ${e}.job_version = ${j}.version THEN ${j}.payload ELSE
    (SELECT p.payload FROM job_payloads p WHERE p.job_id = ${e}.job_id AND p.version = ${e}.job_version) END`;
}

const KEEP = "INSERT INTO job_payloads (job_id, version, payload) SELECT id, version, payload FROM jobs WHERE id = $1";

/** Keeps a job's payload before the job gets another one. */
export async function keepPayload(session: Session, jobId: string): Promise<void> {
  await session.run({ name: "keep_payload", text: KEEP, values: [jobId] });
}
