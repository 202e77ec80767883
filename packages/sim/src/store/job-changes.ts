import {
  type Command,
  type DeleteOutcome,
  type Incarnation,
  isSameDefinition,
  type JobDeletion,
  type JobId,
  type JobReplacement,
  type NamedOutcome,
  type NamedPut,
  type NewRetry,
  type ReplaceCommand,
  type ReplaceOutcome,
  type RetryOutcome,
} from "@mainspring/server/testing";
import { newRow } from "./execution-row.ts";
import type { JobRow } from "./job-table.ts";
import { stateOf } from "./queries.ts";
import type { StoreData } from "./store-data.ts";
import { insert } from "./submit.ts";

/** See StoreJobs.replace. */
export function replaceJob(data: StoreData, by: Incarnation, asked: JobReplacement): ReplaceOutcome {
  const row = known(data, asked);
  if (row === null) return { kind: "NOT_FOUND" };
  const { version } = row;
  const { definition, payload } = row.job;
  if (asked.ifVersion !== null && asked.ifVersion !== version) return { kind: "OTHER_VERSION", version };
  const state = stateOf(data, asked.jobId);
  if (state !== "ACTIVE") return { kind: "WRONG_STATE", state };
  for (const key of ["concurrencyKey", "uniqueKey"] as const) {
    if (definition[key] !== asked.definition[key]) return { kind: "KEY_DIFFERS", key, value: definition[key] };
  }
  if (
    isSameDefinition(definition, asked.definition, Math.max(asked.at, data.now())) &&
    sameBytes(payload, asked.payload)
  ) {
    const { jobId } = asked;
    const executionIds = openOf(data, jobId);
    return { kind: "UNCHANGED", jobId, version, scheduledAt: definition.scheduledAt, executionIds };
  }
  return { kind: "REPLACED", command: write(data, by, row, asked) };
}

function write(data: StoreData, by: Incarnation, row: JobRow, asked: JobReplacement): ReplaceCommand {
  const { jobId, definition, payload } = asked;
  const command: ReplaceCommand = {
    id: asked.commandId,
    shard: row.job.shard,
    kind: "REPLACE",
    jobId,
    executionIds: openOf(data, jobId),
    version: row.version + 1,
    definition,
    payloadBytes: payload?.length ?? 0,
  };
  changed(data, by, [command], {
    ...row,
    job: { ...row.job, definition, payload },
    version: row.version + 1,
    updatedAt: asked.at,
    payloads: [...row.payloads, payload],
  });
  return command;
}

/** See StoreJobs.putNamed. */
export function putNamed(
  data: StoreData,
  by: Incarnation,
  { job, commandId }: NamedPut,
): ReplaceOutcome | NamedOutcome {
  const { tenant, definition, payload, createdAt: at } = job;
  const active = [...data.jobs.all()]
    .map((row) => row.job)
    .filter((other) => {
      const isNamed = other.tenant === tenant && other.definition.name === definition.name;
      return isNamed && stateOf(data, other.jobId) === "ACTIVE";
    });
  const jobIds = active.map(({ jobId }) => jobId);
  const [jobId] = jobIds;
  if (jobIds.length > 1) return { kind: "AMBIGUOUS", jobIds };
  if (jobId !== undefined) {
    return replaceJob(data, by, { tenant, jobId, definition, payload, ifVersion: null, commandId, at });
  }
  const holder = definition.uniqueKey === null ? null : data.uniqueKeys.holderOf(job);
  if (holder !== null) return { kind: "KEY_HELD", jobId: holder.jobId };
  const row = insert(data, job);
  const submission = { idempotency: null, jobs: [job] };
  const { executionId } = job;
  const taken = { jobId: job.jobId, executionId, deduplicated: false };
  const outcome = { kind: "ACCEPTED" as const, replayed: false, jobs: [taken] };
  data.tell({ kind: "SUBMITTED", at: data.now(), by, submission, outcome, rows: [row] });
  return { kind: "CREATED" };
}

/** See StoreJobs.delete. */
export function deleteJob(data: StoreData, by: Incarnation, asked: JobDeletion): DeleteOutcome {
  const row = known(data, asked);
  if (row === null) return { kind: "NOT_FOUND" };
  const { jobId, shard } = row.job;
  const executionIds = openOf(data, jobId);
  const commands = asked.cancelRunning
    ? executionIds.map((executionId): Command => ({ id: asked.commandId(), shard, kind: "CANCEL", executionId }))
    : [];
  if (executionIds.length > 0) commands.push({ id: asked.commandId(), shard, kind: "DELETE", jobId, executionIds });
  changed(data, by, commands, row.deletedAt === null ? { ...row, deletedAt: asked.at, updatedAt: asked.at } : row);
  return { kind: "DELETED", commands };
}

/** See StoreJobs.retry. */
export function retry(data: StoreData, by: Incarnation, asked: NewRetry): RetryOutcome {
  const job = known(data, asked);
  if (job === null || !data.executions.ofJob(asked.jobId).includes(asked.retryOf)) return { kind: "NOT_FOUND" };
  if (job.deletedAt !== null) return { kind: "DELETED" };
  const [open] = openOf(data, asked.jobId);
  if (open !== undefined) return { kind: "NOT_FINAL", executionId: open };
  if (job.version !== asked.jobVersion) return { kind: "OTHER_VERSION", version: job.version };
  const hasKey = asked.definition.uniqueKey !== null;
  const holder = hasKey ? data.uniqueKeys.holderOf(asked) : null;
  if (holder !== null) return { kind: "KEY_HELD", executionId: holder.executionId };
  const row = newRow(asked, asked);
  const letter = data.executions.get(asked.retryOf);
  // What is run again is no dead letter any more.
  if (letter?.state === "DEAD" && letter.settled === null) {
    data.executions.replace(letter, { ...letter, settled: "REPLAY" });
  }
  data.executions.insert(row);
  if (hasKey) data.uniqueKeys.take(asked);
  data.tell({ kind: "JOB_CHANGED", at: data.now(), by, job, row });
  return { kind: "ACCEPTED" };
}

function known(data: StoreData, { tenant, jobId }: { tenant: string; jobId: JobId }): JobRow | null {
  const row = data.jobs.get(jobId);
  return row?.job.tenant === tenant ? row : null;
}

function openOf(data: StoreData, jobId: JobId): string[] {
  const ids = data.executions.ofJob(jobId).filter((id) => data.executions.get(id)?.queue !== "NONE");
  return ids.toSorted();
}

function changed(data: StoreData, by: Incarnation, commands: readonly Command[], job: JobRow): void {
  data.jobs.replace(job);
  data.tell({ kind: "JOB_CHANGED", at: data.now(), by, job, row: null });
  for (const command of commands) {
    data.commands.add(command);
    data.tell({ kind: "COMMANDED", at: data.now(), by, command });
  }
}

function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0;
}
