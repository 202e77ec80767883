import type { EpochMs } from "../../domain/ids.ts";
import type { NamedOutcome, NamedPut, ReplaceOutcome } from "../../ports/store-jobs.ts";
import { QUEUE_CODES } from "./codes.ts";
import type { Session } from "./connections.ts";
import { insertStatement } from "./insert.ts";
import { replaceJob } from "./job-changes.ts";
import { claimUniqueKeys } from "./unique-keys.ts";

/** Two puts of one name that arrive together must not both find that there is none. */
const LOCK_NAME = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

const ACTIVE = `
  SELECT j.id FROM jobs j WHERE j.tenant = $1 AND j.name = $2 AND j.deleted_at IS NULL AND EXISTS (
    SELECT FROM executions x WHERE x.job_id = j.id AND (x.queue = ${QUEUE_CODES.WAITING}
      OR x.queue = ${QUEUE_CODES.READY} OR x.queue = ${QUEUE_CODES.HELD}))
  ORDER BY j.id LIMIT 2`;

/** See StoreJobs.putNamed; within a transaction. */
export async function putNamed(
  session: Session,
  { job, commandId }: NamedPut,
  now: () => EpochMs,
): Promise<ReplaceOutcome | NamedOutcome> {
  const { tenant, definition, payload, createdAt: at } = job;
  await session.run({ text: LOCK_NAME, values: [JSON.stringify([tenant, definition.name])] });
  const rows = await session.run({ text: ACTIVE, values: [tenant, definition.name] });
  const jobIds = rows.map(([id]) => id as string);
  const [jobId] = jobIds;
  if (jobIds.length > 1) return { kind: "AMBIGUOUS", jobIds };
  if (jobId !== undefined) {
    const asked = { tenant, jobId, definition, payload, ifVersion: null, commandId, at };
    const outcome = await replaceJob(session, asked, now);
    // It may have ended since it was found.
    if (outcome.kind !== "WRONG_STATE" && outcome.kind !== "NOT_FOUND") return outcome;
  }
  const [holder] = (await claimUniqueKeys(session, [job])).values();
  if (holder !== undefined) return { kind: "KEY_HELD", jobId: holder.jobId };
  await session.run(insertStatement([job]));
  return { kind: "CREATED" };
}
