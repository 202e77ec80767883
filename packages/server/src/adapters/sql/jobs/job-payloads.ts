import type { Session } from "../connection/connections.ts";

/**
 * The payload of an execution: its job's, or what that was at the version that the execution runs by.
 * @param e,j the names under which the statement knows the execution and its job
 */
export function payloadOf(e: string, j: string): string {
  return `CASE WHEN ${e}.job_version = ${j}.version THEN ${j}.payload ELSE
    (SELECT p.payload FROM job_payloads p WHERE p.job_id = ${e}.job_id AND p.version = ${e}.job_version) END`;
}

const KEEP = "INSERT INTO job_payloads (job_id, version, payload) SELECT id, version, payload FROM jobs WHERE id = $1";

/** Before the job gets another one. */
export async function keepPayload(session: Session, jobId: string): Promise<void> {
  await session.run({ name: "keep_payload", text: KEEP, values: [jobId] });
}
