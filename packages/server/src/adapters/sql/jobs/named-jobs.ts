import type { EpochMs, JobId } from "../../../domain/ids.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import type { NewRecurringJob } from "../../../ports/store.ts";
import type { NamedOutcome, NamedPut, ReplaceOutcome } from "../../../ports/store-jobs.ts";
import { inboxOfJobs } from "../../../ports/told-events.ts";
import type { Session } from "../connection/connections.ts";
import type { EventInbox } from "../events/inbox.ts";
import { lockKey } from "../schema/locks.ts";
import { insertStatement } from "../submit/insert.ts";
import { insertRecurringStatement } from "../submit/insert-recurring.ts";
import { KeyVanished } from "../submit/key-vanished.ts";
import { claimUniqueKeys } from "../submit/unique-keys.ts";
import { replaceJob } from "./job-changes.ts";
import { isRecurring } from "./job-columns.ts";
import { claimNames, readName } from "./job-names.ts";
import { IS_ACTIVE } from "./job-rows.ts";

/** Locks a name, so that two concurrent puts of one name do not both find that there is no job. */
const LOCK_NAME = `SELECT pg_advisory_xact_lock(hashtextextended($1, ${lockKey(0)}))`;

export const ACTIVE = `
  SELECT j.id FROM jobs j
  WHERE j.tenant = $1 AND j.name = $2 AND j.deleted_at IS NULL AND j.recurrence IS NULL AND ${IS_ACTIVE}
  ORDER BY j.id LIMIT 2`;

/** See StoreJobs.putNamed; runs within a transaction. */
export async function putNamed(
  session: Session,
  { job, commandId }: NamedPut,
  now: () => EpochMs,
  inbox: EventInbox,
): Promise<ReplaceOutcome | NamedOutcome> {
  const { tenant, definition, payload, createdAt: at } = job;
  await session.run({ text: LOCK_NAME, values: [JSON.stringify([tenant, definition.name])] });
  const jobIds = await bearers(session, job);
  const [jobId] = jobIds;
  if (jobIds.length > 1) return { kind: "AMBIGUOUS", jobIds };
  if (jobId !== undefined) {
    const asked = { tenant, jobId, definition, payload, ifVersion: null, commandId, at };
    const outcome = await replaceJob(session, asked, now, inbox);
    if (!hasEnded(jobId, outcome)) return outcome;
  }
  if (isRecurring(job)) return await createRecurring(session, job, inbox);
  const [holder] = (await claimUniqueKeys(session, [job])).values();
  if (holder !== undefined) return { kind: "KEY_HELD", jobId: holder.jobId };
  await session.run(insertStatement([job]));
  await inbox.leave(session, () => inboxOfJobs([job]));
  return { kind: "CREATED" };
}

/** Active jobs with the name, at most two, jobs of the same kind first. */
async function bearers(session: Session, job: NamedPut["job"]): Promise<JobId[]> {
  const { tenant, definition } = job;
  const recurring = async () => (await readName(session, tenant, definition.name as string)) ?? [];
  const active = async () => (await session.run({ text: ACTIVE, values: [tenant, definition.name] })).flat() as JobId[];
  const [first, second] = isRecurring(job) ? [recurring, active] : [active, recurring];
  const found = [await first()].flat();
  return found.length > 0 ? found : [await second()].flat();
}

/** Whether the job has ended since it was found. A recurring job that has ended keeps its name until it is deleted. */
function hasEnded(jobId: JobId, outcome: ReplaceOutcome): boolean {
  if (outcome.kind === "NOT_FOUND") return true;
  return outcome.kind === "WRONG_STATE" && (outcome.state === "DELETED" || !isRecurringJobId(jobId));
}

async function createRecurring(session: Session, job: NewRecurringJob, inbox: EventInbox): Promise<NamedOutcome> {
  // Another client submitted a job with this name a moment ago, without waiting for this lock.
  if ((await claimNames(session, [job])).size > 0) throw new KeyVanished("The name was just taken");
  await session.run(insertRecurringStatement([job]));
  await inbox.leave(session, () => inboxOfJobs([job]));
  return { kind: "CREATED" };
}
