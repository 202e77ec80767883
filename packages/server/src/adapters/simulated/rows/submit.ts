import type { Incarnation } from "../../../domain/ids.ts";
import { unstorableJob, unstorableKey, unstorableWorkflow } from "../../../ports/storable.ts";
import type { AcceptedJob, NewJob, NewRecurringJob, Submission, SubmitOutcome } from "../../../ports/store.ts";
import { type AnyJob, hasGraph, isWorkflow, type NewWorkflow } from "../../../ports/store-runs.ts";
import { inboxOfJobs } from "../../../ports/told-events.ts";
import type { StoreData } from "../store-data.ts";
import { type ExecutionRow, newRow } from "./execution-row.ts";
import { insertGraph, insertWorkflow } from "./insert-workflow.ts";

/** See Store.submit. Each submission applies completely or not at all, one after the other. */
export function submit(data: StoreData, by: Incarnation, batch: readonly Submission[]): SubmitOutcome[] {
  return batch.map((submission) => {
    const rows: ExecutionRow[] = [];
    const outcome = submitOne(data, submission, rows);
    data.tell({ kind: "SUBMITTED", at: data.now(), by, submission, outcome, rows });
    return outcome;
  });
}

/** @param rows list to which the new rows are added */
function submitOne(data: StoreData, submission: Submission, rows: ExecutionRow[]): SubmitOutcome {
  const repeated = answeredBefore(data, submission);
  if (repeated !== null) return repeated;
  const { jobs, fresh } = deduplicated(data, submission.jobs);
  const message = refusal(data, submission, fresh);
  if (message !== null) return { kind: "REFUSED", message };
  for (const job of fresh) {
    if (hasGraph(job)) insertGraph(data, job);
    if (job.executionId === null) insertRecurring(data, job);
    else if (isWorkflow(job)) rows.push(...insertWorkflow(data, job));
    else rows.push(insert(data, job));
  }
  if (fresh.length > 0) data.leave(() => inboxOfJobs(fresh));
  const { idempotency } = submission;
  if (idempotency !== null) {
    const { tenant, key, requestHash } = idempotency;
    data.idempotencyKeys.set(tenant, key, { requestHash, jobs, createdAt: data.now() });
  }
  return { kind: "ACCEPTED", replayed: false, jobs: copied(jobs) };
}

/** See StoreQueries.answered. */
export function answeredBefore(
  data: StoreData,
  { idempotency }: Pick<Submission, "idempotency">,
): SubmitOutcome | null {
  const first = idempotency === null ? undefined : data.idempotencyKeys.get(idempotency.tenant, idempotency.key);
  if (first === undefined) return null;
  if (first.requestHash !== idempotency?.requestHash) return { kind: "KEY_REUSED" };
  return { kind: "ACCEPTED", replayed: true, jobs: copied(first.jobs) };
}

/** Ids for the answer, and rows to write. If several jobs have the same unique key or name, the first one counts. */
function deduplicated(data: StoreData, asked: readonly AnyJob[]): { jobs: AcceptedJob[]; fresh: AnyJob[] } {
  const fresh: AnyJob[] = [];
  const taken = new Map<string, AcceptedJob>();
  const jobs = asked.map((job): AcceptedJob => {
    const { jobId, executionId } = job;
    const { kept, name } =
      executionId === null ? namedBefore(data, job) : keyedBefore(data, job as NewJob | NewWorkflow);
    const holder = name === null ? null : (kept ?? taken.get(name) ?? null);
    if (holder !== null) {
      return executionId === null ? { jobId, executionId, deduplicated: false, nameHeldBy: holder.jobId } : holder;
    }
    if (name !== null) taken.set(name, { jobId, executionId, deduplicated: true });
    fresh.push(job);
    return { jobId, executionId, deduplicated: false };
  });
  return { jobs, fresh };
}

/** Key of a job within its submission, and the job that has the key already. */
interface Known {
  name: string | null;
  kept: AcceptedJob | null;
}

function keyedBefore(data: StoreData, job: NewJob | NewWorkflow): Known {
  const { uniqueKey } = job.definition;
  if (uniqueKey === null) return { name: null, kept: null };
  return { name: JSON.stringify(["key", job.tenant, uniqueKey]), kept: data.uniqueKeys.holderOf(job) };
}

function namedBefore(data: StoreData, { tenant, definition: { name } }: AnyJob): Known {
  if (name === null) return { name, kept: null };
  const jobId = data.jobNames.holderOf(tenant, name);
  const kept = jobId === null ? null : { jobId, executionId: null, deduplicated: false };
  return { name: JSON.stringify(["name", tenant, name]), kept };
}

function refusal(data: StoreData, { idempotency }: Submission, fresh: readonly AnyJob[]): string | null {
  const unstorable = idempotency === null ? null : unstorableKey(idempotency);
  if (unstorable !== null) return unstorable;
  const ids = new Set<string>();
  for (const job of fresh) {
    const message = isWorkflow(job) ? unstorableWorkflow(job) : unstorableJob(job);
    if (message !== null) return message;
    const { jobId, executionId } = job;
    if (ids.has(jobId) || data.jobs.get(jobId) !== undefined) return `there is a job ${jobId}`;
    ids.add(jobId);
    if (executionId === null) continue;
    if (ids.has(executionId) || data.executions.get(executionId) !== undefined) {
      return `there is an execution ${executionId}`;
    }
    ids.add(executionId);
    const root = isWorkflow(job) ? job.roots.find(({ row }) => data.executions.get(row.id) !== undefined) : undefined;
    if (root !== undefined) return `there is an execution ${root.row.id}`;
  }
  return null;
}

/** Inserts a job and its execution. */
export function insert(data: StoreData, asked: NewJob): ExecutionRow {
  const job = { ...asked };
  const row = newRow(job);
  data.jobs.insert(job);
  data.executions.insert(row);
  if (job.definition.uniqueKey !== null) data.uniqueKeys.take(job);
  return row;
}

/** Inserts a recurring job and its plan. */
export function insertRecurring(data: StoreData, asked: NewRecurringJob): void {
  const { jobId, shard, tenant, definition, firstFireAt, tzdata } = asked;
  data.jobs.insert({ ...asked });
  data.plans.insert({
    ...{ jobId, shard, revision: 1 },
    plan: {
      ...{ version: 1, state: "ACTIVE", nextFireAt: firstFireAt, fired: 0, previous: null, bufferedAt: null },
      ...{ catchUps: [], tzdata },
    },
  });
  if (definition.name !== null) data.jobNames.take(tenant, definition.name, jobId);
}

/** Copies an answer, because the receiver may change it. */
function copied(jobs: readonly AcceptedJob[]): AcceptedJob[] {
  return jobs.map((job) => ({ ...job }));
}
