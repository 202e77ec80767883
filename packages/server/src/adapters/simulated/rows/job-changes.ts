import { RUN_NODE } from "../../../domain/execution.ts";
import type { ExecutionId, Incarnation, JobId } from "../../../domain/ids.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import { isSameDefinition } from "../../../domain/same-definition.ts";
import { commandOfReplacement, commandsOfDeletion } from "../../../ports/job-commands.ts";
import type { NewJob, NewRecurringJob } from "../../../ports/store.ts";
import type { Command, PlanCommand } from "../../../ports/store-commands.ts";
import type {
  DeleteOutcome,
  JobDeletion,
  JobReplacement,
  NamedOutcome,
  NamedPut,
  NewRun,
  OrderOutcome,
  ReplaceOutcome,
  RunOutcome,
} from "../../../ports/store-jobs.ts";
import { inboxOfDeletion, inboxOfJobs, inboxOfReplacement, inboxOfRun } from "../../../ports/told-events.ts";
import type { StoreData } from "../store-data.ts";
import { newRow } from "./execution-row.ts";
import { putRun } from "./insert-workflow.ts";
import type { JobRow } from "./job-table.ts";
import { stateOf } from "./queries.ts";
import { addCommand } from "./reads.ts";
import { insert, insertRecurring } from "./submit.ts";

/** See StoreJobs.replace. */
export function replaceJob(data: StoreData, by: Incarnation, asked: JobReplacement): ReplaceOutcome {
  const row = known(data, asked);
  if (row === null) return { kind: "NOT_FOUND" };
  if (data.runs.isWorkflow(asked.jobId)) return { kind: "IS_WORKFLOW" };
  const { version } = row;
  const { definition, payload } = row.job;
  const isRecurring = definition.recurrence !== null;
  if (asked.ifVersion !== null && asked.ifVersion !== version) return { kind: "OTHER_VERSION", version };
  if (isRecurring !== (asked.definition.recurrence !== null)) return { kind: "OTHER_TYPE", isRecurring };
  const state = stateOf(data, asked.jobId);
  if (state === "DELETED" || (state !== "ACTIVE" && !isRecurring)) return { kind: "WRONG_STATE", state };
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
  if (state === "FINISHED") return { kind: "WRONG_STATE", state };
  const holder = isRecurring ? rename(data, row, asked) : null;
  return holder === null ? write(data, by, row, asked) : { kind: "NAME_HELD", jobId: holder };
}

/** @returns id of the job that has the new name already; null: none */
function rename(data: StoreData, row: JobRow, { tenant, jobId, definition }: JobReplacement): JobId | null {
  const [before, after] = [row.job.definition.name, definition.name];
  if (before === after) return null;
  const holder = after === null ? null : data.jobNames.holderOf(tenant, after);
  if (holder !== null) return holder;
  if (before !== null) data.jobNames.release(tenant, before);
  if (after !== null) data.jobNames.take(tenant, after, jobId);
  return null;
}

function write(data: StoreData, by: Incarnation, row: JobRow, asked: JobReplacement): ReplaceOutcome {
  const { definition, payload } = asked;
  const version = row.version + 1;
  const command = commandOfReplacement(opened(data, row), asked, version);
  data.leave(() => [inboxOfReplacement(asked, row.job.shard, version)]);
  changed(data, by, [command], {
    ...row,
    job: { ...row.job, definition, payload },
    version,
    updatedAt: asked.at,
    payloads: [...row.payloads, payload],
  });
  return { kind: "REPLACED", version, command };
}

/** See StoreJobs.putNamed. */
export function putNamed(
  data: StoreData,
  by: Incarnation,
  { job, commandId }: NamedPut,
): ReplaceOutcome | NamedOutcome {
  const { tenant, definition, payload, createdAt: at } = job;
  const jobIds = bearers(data, job);
  const [jobId] = jobIds;
  if (jobIds.length > 1) return { kind: "AMBIGUOUS", jobIds };
  if (jobId !== undefined) {
    return replaceJob(data, by, { tenant, jobId, definition, payload, ifVersion: null, commandId, at });
  }
  const isKeyed = job.executionId !== null && definition.uniqueKey !== null;
  const holder = isKeyed ? data.uniqueKeys.holderOf(job) : null;
  if (holder !== null) return { kind: "KEY_HELD", jobId: holder.jobId };
  const rows = job.executionId === null ? [] : [insert(data, job)];
  if (job.executionId === null) insertRecurring(data, job);
  data.leave(() => inboxOfJobs([job]));
  const submission = { idempotency: null, jobs: [job] };
  const { executionId } = job;
  const taken = { jobId: job.jobId, executionId, deduplicated: false };
  const outcome = { kind: "ACCEPTED" as const, replayed: false, jobs: [taken] };
  data.tell({ kind: "SUBMITTED", at: data.now(), by, submission, outcome, rows });
  return { kind: "CREATED" };
}

/** Active jobs with the name, jobs of the same kind first; at most two. */
function bearers(data: StoreData, { tenant, executionId, definition }: NewJob | NewRecurringJob): JobId[] {
  const name = definition.name as string;
  const recurring = [data.jobNames.holderOf(tenant, name)].filter((jobId) => jobId !== null);
  const active = [...data.jobs.all()]
    .filter(({ job }) => job.tenant === tenant && job.definition.name === name && !isRecurringJobId(job.jobId))
    .map(({ job }) => job.jobId)
    .filter((jobId) => stateOf(data, jobId) === "ACTIVE");
  const [first, second] = executionId === null ? [recurring, active] : [active, recurring];
  return first.length > 0 ? first : second;
}

/** See StoreJobs.delete. */
export function deleteJob(data: StoreData, by: Incarnation, asked: JobDeletion): DeleteOutcome {
  const row = known(data, asked);
  if (row === null) return { kind: "NOT_FOUND" };
  const isPlanEnded = endPlan(data, row);
  const commands = commandsOfDeletion(opened(data, row), asked, isPlanEnded);
  if (row.deletedAt === null) data.leave(() => [inboxOfDeletion(asked.commandId(), asked, row.job, row.version)]);
  changed(data, by, commands, row.deletedAt === null ? { ...row, deletedAt: asked.at, updatedAt: asked.at } : row);
  return { kind: "DELETED", commands };
}

/** Ends a job's plan, so that nothing fires any more. @returns whether anything might have fired */
function endPlan(data: StoreData, { job }: JobRow): boolean {
  const row = data.plans.get(job.jobId);
  if (row === undefined || row.plan.state === "DELETED") return false;
  const plan = { ...row.plan, state: "DELETED" as const, nextFireAt: null, bufferedAt: null, catchUps: [] };
  data.plans.replace({ ...row, revision: row.revision + 1, plan });
  const { name } = job.definition;
  if (name !== null) data.jobNames.release(job.tenant, name);
  return true;
}

/** See StoreJobs.run. */
export function run(data: StoreData, by: Incarnation, asked: NewRun): RunOutcome {
  const { jobId, retryOf, jobVersion } = asked;
  const job = known(data, asked);
  const isKnown = retryOf === null || data.executions.ofJob(jobId).includes(retryOf);
  if (job === null || !isKnown) return { kind: "NOT_FOUND" };
  if (job.deletedAt !== null) return { kind: "DELETED" };
  const { recurrence } = job.job.definition;
  const startsRun = recurrence?.startsWorkflow === true && retryOf === null;
  if (data.runs.isWorkflow(jobId) && !startsRun) return { kind: "IS_WORKFLOW" };
  const isRecurring = recurrence !== null;
  const open = openOf(data, jobId).find((id) => !isRecurring || id === retryOf);
  if (open !== undefined) return { kind: "NOT_FINAL", executionId: open };
  if (job.version !== jobVersion) return { kind: "OTHER_VERSION", version: job.version };
  const hasKey = asked.definition.uniqueKey !== null;
  const holder = hasKey ? data.uniqueKeys.holderOf(asked) : null;
  if (holder !== null) return { kind: "KEY_HELD", executionId: holder.executionId };
  const made = newRow(asked, { trigger: retryOf === null ? "MANUAL" : "RETRY", retryOf, jobVersion });
  const row = startsRun ? { ...made, node: RUN_NODE } : made;
  if (startsRun) putRun(data, asked, null, []);
  if (retryOf !== null) settleByRetry(data, retryOf);
  const isMarked = retryOf !== null && asked.keepsSteps === true && keepSteps(data, retryOf, row.id);
  const inserted = isMarked ? { ...row, steps: "RECORDED" as const } : row;
  data.executions.insert(inserted);
  if (hasKey) data.uniqueKeys.take(asked);
  data.leave(() => [inboxOfRun(asked)]);
  data.tell({ kind: "JOB_CHANGED", at: data.now(), by, job, row: inserted });
  return isMarked ? { kind: "ACCEPTED", steps: "RECORDED" } : { kind: "ACCEPTED" };
}

/** A dead letter whose execution runs again leaves the list. */
export function settleByRetry(data: StoreData, retryOf: ExecutionId): void {
  const letter = data.executions.get(retryOf);
  if (letter?.state !== "DEAD" || letter.settled !== null) return;
  data.executions.replace(letter, { ...letter, settled: "REPLAY" });
}

/** Copies records and open signals. @returns whether there were any */
function keepSteps(data: StoreData, from: ExecutionId, to: ExecutionId): boolean {
  const [records, signals] = [data.steps.of(from), data.signals.openOf(from)];
  for (const record of records) data.steps.write({ ...record, executionId: to, attempt: 0 });
  for (const signal of signals) data.signals.add(to, signal, null);
  return records.length + signals.length > 0;
}

/** See StoreJobs.order. */
export function order(data: StoreData, by: Incarnation, tenant: string, command: PlanCommand): OrderOutcome {
  const job = known(data, { tenant, jobId: command.jobId });
  if (job === null) return { kind: "NOT_FOUND" };
  if (job.job.definition.recurrence === null) return { kind: "NOT_RECURRING" };
  const state = stateOf(data, command.jobId);
  if (state === "DELETED" || state === "FINISHED") return { kind: "WRONG_STATE", state };
  addCommand(data, by, command);
  return { kind: "TAKEN" };
}

export function known(data: StoreData, { tenant, jobId }: { tenant: string; jobId: JobId }): JobRow | null {
  const row = data.jobs.get(jobId);
  return row?.job.tenant === tenant ? row : null;
}

/** A job with its executions that are not final, as commands about it are made from. */
function opened(data: StoreData, { job: { jobId, shard, definition }, version }: JobRow) {
  return { shard, version, definition, open: openOf(data, jobId) };
}

export function openOf(data: StoreData, jobId: JobId): string[] {
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
