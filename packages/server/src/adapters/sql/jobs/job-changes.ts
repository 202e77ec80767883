import type { EpochMs } from "../../../domain/ids.ts";
import { isSameDefinition } from "../../../domain/same-definition.ts";
import { commandOfReplacement, commandsOfDeletion } from "../../../ports/job-commands.ts";
import type { DeleteOutcome, JobDeletion, JobReplacement, ReplaceOutcome } from "../../../ports/store-jobs.ts";
import { inboxOfDeletion, inboxOfReplacement } from "../../../ports/told-events.ts";
import { insertCommand } from "../cluster/commands.ts";
import type { Session } from "../connection/connections.ts";
import type { EventInbox } from "../events/inbox.ts";
import { endPlan } from "../recurring/plan-commands.ts";
import { labelsText, policyText, requiresText } from "./job-columns.ts";
import { claimName, releaseName } from "./job-names.ts";
import { keepPayload } from "./job-payloads.ts";
import { type LockedJob, lockJob } from "./locked-job.ts";

const UPDATE = `
  UPDATE jobs SET version = $2, updated_at = $3, name = $4, pool = $5, handler = $6, requires = $7, priority = $8,
    scheduled_at = $9, policy = $10, concurrency_limit = $11, labels = $12, recurrence = $13, payload = $14 WHERE id = $1`;

/** The plan goes with its job into another flow (ports/store-recurrences.ts, dueFlows). */
const MOVE_PLAN = "UPDATE plans SET pool = $2 WHERE job_id = $1 AND pool <> $2";

const DELETE = "UPDATE jobs SET deleted_at = $2, updated_at = $2 WHERE id = $1 AND deleted_at IS NULL";

/** See StoreJobs.replace; runs within a transaction. @param now read when the job is locked, which may take a while */
export async function replaceJob(
  session: Session,
  asked: JobReplacement,
  now: () => EpochMs,
  inbox: EventInbox,
): Promise<ReplaceOutcome> {
  const job = await lockJob(session, asked.tenant, asked.jobId);
  if (job === null) return { kind: "NOT_FOUND" };
  if (job.isWorkflow) return { kind: "IS_WORKFLOW" };
  const isRecurring = job.definition.recurrence !== null;
  if (asked.ifVersion !== null && asked.ifVersion !== job.version) {
    return { kind: "OTHER_VERSION", version: job.version };
  }
  if (isRecurring !== (asked.definition.recurrence !== null)) return { kind: "OTHER_TYPE", isRecurring };
  if (job.state === "DELETED" || (job.state !== "ACTIVE" && !isRecurring)) {
    return { kind: "WRONG_STATE", state: job.state };
  }
  for (const key of ["concurrencyKey", "uniqueKey"] as const) {
    const value = job.definition[key];
    if (value !== asked.definition[key]) return { kind: "KEY_DIFFERS", key, value };
  }
  const at = Math.max(asked.at, now());
  if (isSameDefinition(job.definition, asked.definition, at) && sameBytes(job.payload, asked.payload)) {
    const { jobId, version, open: executionIds } = job;
    return { kind: "UNCHANGED", jobId, version, scheduledAt: job.definition.scheduledAt, executionIds };
  }
  // This check comes last, so that a program that puts the same definition at each start learns that nothing changed,
  // even if the job has ended.
  if (job.state === "FINISHED") return { kind: "WRONG_STATE", state: job.state };
  const holder = isRecurring ? await rename(session, job, asked) : asked.jobId;
  return holder === asked.jobId ? await write(session, job, asked, inbox) : { kind: "NAME_HELD", jobId: holder };
}

/** @returns id of the job that has the new name already */
async function rename(session: Session, job: LockedJob, { tenant, jobId, definition }: JobReplacement) {
  const [before, after] = [job.definition.name, definition.name];
  if (before === after) return jobId;
  const holder = after === null ? jobId : await claimName(session, { tenant, jobId, name: after });
  if (before !== null && holder === jobId) await releaseName(session, { tenant, jobId, name: before });
  return holder;
}

async function write(
  session: Session,
  job: LockedJob,
  asked: JobReplacement,
  inbox: EventInbox,
): Promise<ReplaceOutcome> {
  const { definition, payload, at } = asked;
  const version = job.version + 1;
  await keepPayload(session, job.jobId);
  const { name, pool, handler, priority, scheduledAt, concurrencyLimit, recurrence } = definition;
  const [requires, policy] = [requiresText(definition.requires), policyText(definition.policy)];
  const labels = labelsText(definition.labels);
  const values = [job.jobId, version, at, name, pool, handler, requires, priority, scheduledAt, policy];
  values.push(concurrencyLimit, labels, recurrence === null ? null : JSON.stringify(recurrence), payload as never);
  await session.run({ name: "replace_job", text: UPDATE, values });
  if (recurrence !== null && pool !== job.definition.pool)
    await session.run({ name: "move_plan", text: MOVE_PLAN, values: [job.jobId, pool] });
  const command = commandOfReplacement(job, asked, version);
  await insertCommand(session, command);
  await inbox.leave(session, () => [inboxOfReplacement(asked, job.shard, version)]);
  return { kind: "REPLACED", version, command };
}

/** See StoreJobs.delete; runs within a transaction. */
export async function deleteJob(session: Session, asked: JobDeletion, inbox: EventInbox): Promise<DeleteOutcome> {
  const { tenant, jobId, commandId, at } = asked;
  // The plan ends first: an instant that fired before is among the open executions that are read next, and a later one
  // finds no plan.
  const isPlanEnded = await endPlan(session, tenant, jobId);
  const job = await lockJob(session, tenant, jobId);
  if (job === null) return { kind: "NOT_FOUND" };
  await session.run({ name: "delete_job", text: DELETE, values: [jobId, at] });
  const { name } = job.definition;
  if (isPlanEnded && name !== null) await releaseName(session, { tenant, jobId, name });
  const commands = commandsOfDeletion(job, asked, isPlanEnded);
  for (const command of commands) await insertCommand(session, command);
  if (job.state !== "DELETED")
    await inbox.leave(session, () => [inboxOfDeletion(commandId(), asked, job, job.version)]);
  return { kind: "DELETED", commands };
}

function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0;
}
