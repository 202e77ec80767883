import type { EpochMs } from "../../domain/ids.ts";
import { isSameDefinition } from "../../domain/same-definition.ts";
import type { Command, ReplaceCommand } from "../../ports/store.ts";
import type { DeleteOutcome, JobDeletion, JobReplacement, ReplaceOutcome } from "../../ports/store-jobs.ts";
import { insertCommand } from "./commands.ts";
import type { Session } from "./connections.ts";
import { labelsText, policyText, requiresText } from "./insert.ts";
import { keepPayload } from "./job-payloads.ts";
import { type LockedJob, lockJob } from "./locked-job.ts";

const UPDATE = `
  UPDATE jobs SET version = $2, updated_at = $3, name = $4, pool = $5, handler = $6, requires = $7, priority = $8,
    scheduled_at = $9, policy = $10, concurrency_limit = $11, labels = $12, payload = $13 WHERE id = $1`;

const DELETE = "UPDATE jobs SET deleted_at = $2, updated_at = $2 WHERE id = $1";

/** See StoreJobs.replace; within a transaction. @param now asked for when the job is locked, which may take a while */
export async function replaceJob(session: Session, asked: JobReplacement, now: () => EpochMs): Promise<ReplaceOutcome> {
  const job = await lockJob(session, asked.tenant, asked.jobId);
  if (job === null) return { kind: "NOT_FOUND" };
  if (asked.ifVersion !== null && asked.ifVersion !== job.version) {
    return { kind: "OTHER_VERSION", version: job.version };
  }
  if (job.state !== "ACTIVE") return { kind: "WRONG_STATE", state: job.state };
  for (const key of ["concurrencyKey", "uniqueKey"] as const) {
    const value = job.definition[key];
    if (value !== asked.definition[key]) return { kind: "KEY_DIFFERS", key, value };
  }
  const at = Math.max(asked.at, now());
  if (isSameDefinition(job.definition, asked.definition, at) && sameBytes(job.payload, asked.payload)) {
    const { jobId, version, open: executionIds } = job;
    return { kind: "UNCHANGED", jobId, version, scheduledAt: job.definition.scheduledAt, executionIds };
  }
  return { kind: "REPLACED", command: await write(session, job, asked) };
}

async function write(session: Session, job: LockedJob, asked: JobReplacement): Promise<ReplaceCommand> {
  const { definition, payload, at, commandId: id } = asked;
  const { jobId, shard, open: executionIds } = job;
  const version = job.version + 1;
  await keepPayload(session, jobId);
  const { name, pool, handler, priority, scheduledAt, concurrencyLimit } = definition;
  const [requires, policy] = [requiresText(definition.requires), policyText(definition.policy)];
  const labels = labelsText(definition.labels);
  const values = [jobId, version, at, name, pool, handler, requires, priority, scheduledAt, policy, concurrencyLimit];
  await session.run({ name: "replace_job", text: UPDATE, values: [...values, labels, payload] });
  const payloadBytes = payload?.length ?? 0;
  const command: ReplaceCommand = {
    ...{ id, shard, kind: "REPLACE", jobId, executionIds, version, definition, payloadBytes },
  };
  await insertCommand(session, command);
  return command;
}

/** See StoreJobs.delete; within a transaction. */
export async function deleteJob(session: Session, asked: JobDeletion): Promise<DeleteOutcome> {
  const { tenant, jobId, cancelRunning, commandId, at } = asked;
  const job = await lockJob(session, tenant, jobId);
  if (job === null) return { kind: "NOT_FOUND" };
  if (job.state !== "DELETED") await session.run({ name: "delete_job", text: DELETE, values: [jobId, at] });
  const commands: Command[] = [];
  const { shard, open: executionIds } = job;
  if (cancelRunning) {
    for (const executionId of executionIds) commands.push({ id: commandId(), shard, kind: "CANCEL", executionId });
  }
  if (executionIds.length > 0) commands.push({ id: commandId(), shard, kind: "DELETE", jobId, executionIds });
  for (const command of commands) await insertCommand(session, command);
  return { kind: "DELETED", commands };
}

function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0;
}
