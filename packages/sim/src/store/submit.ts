import type { AcceptedJob, Incarnation, NewJob, Submission, SubmitOutcome } from "@mainspring/server/testing";
import { type ExecutionRow, newRow } from "./execution-row.ts";
import { unstorableJob, unstorableKey } from "./storable.ts";
import type { StoreData } from "./store-data.ts";

/** See Store.submit. Each submission is all or nothing, one after the other. */
export function submit(data: StoreData, by: Incarnation, batch: readonly Submission[]): SubmitOutcome[] {
  return batch.map((submission) => {
    const rows: ExecutionRow[] = [];
    const outcome = submitOne(data, submission, rows);
    data.tell({ kind: "SUBMITTED", at: data.now(), by, submission, outcome, rows });
    return outcome;
  });
}

/** @param rows gets the rows that are new */
function submitOne(data: StoreData, submission: Submission, rows: ExecutionRow[]): SubmitOutcome {
  const repeated = answeredBefore(data, submission);
  if (repeated !== null) return repeated;
  const { jobs, fresh } = deduplicated(data, submission.jobs);
  const message = refusal(data, submission, fresh);
  if (message !== null) return { kind: "REFUSED", message };
  for (const job of fresh) rows.push(insert(data, job));
  const { idempotency } = submission;
  if (idempotency !== null) {
    const { tenant, key, requestHash } = idempotency;
    data.idempotencyKeys.set(tenant, key, { requestHash, jobs, createdAt: data.now() });
  }
  return { kind: "ACCEPTED", replayed: false, jobs: copied(jobs) };
}

function answeredBefore(data: StoreData, { idempotency }: Submission): SubmitOutcome | null {
  const first = idempotency === null ? undefined : data.idempotencyKeys.get(idempotency.tenant, idempotency.key);
  if (first === undefined) return null;
  if (first.requestHash !== idempotency?.requestHash) return { kind: "KEY_REUSED" };
  return { kind: "ACCEPTED", replayed: true, jobs: copied(first.jobs) };
}

/** Who is told of which ids, and whose rows are to be written: of jobs with the same unique key the first one's. */
function deduplicated(data: StoreData, asked: readonly NewJob[]): { jobs: AcceptedJob[]; fresh: NewJob[] } {
  const fresh: NewJob[] = [];
  const taken = new Map<string, AcceptedJob>();
  const jobs = asked.map((job): AcceptedJob => {
    const name = job.definition.uniqueKey === null ? null : JSON.stringify([job.tenant, job.definition.uniqueKey]);
    const holder = name === null ? null : (data.uniqueKeys.holderOf(job) ?? taken.get(name) ?? null);
    if (holder !== null) return holder;
    const { jobId, executionId } = job;
    if (name !== null) taken.set(name, { jobId, executionId, deduplicated: true });
    fresh.push(job);
    return { jobId, executionId, deduplicated: false };
  });
  return { jobs, fresh };
}

function refusal(data: StoreData, { idempotency }: Submission, fresh: readonly NewJob[]): string | null {
  const unstorable = idempotency === null ? null : unstorableKey(idempotency);
  if (unstorable !== null) return unstorable;
  const ids = new Set<string>();
  for (const job of fresh) {
    const message = unstorableJob(job);
    if (message !== null) return message;
    const { jobId, executionId } = job;
    if (ids.has(jobId) || data.jobs.get(jobId) !== undefined) return `there is a job ${jobId}`;
    if (ids.has(executionId) || data.executions.get(executionId) !== undefined) {
      return `there is an execution ${executionId}`;
    }
    ids.add(jobId).add(executionId);
  }
  return null;
}

/** Both rows of a job. */
export function insert(data: StoreData, asked: NewJob): ExecutionRow {
  const job = { ...asked };
  const row = newRow(job);
  data.jobs.insert(job);
  data.executions.insert(row);
  if (job.definition.uniqueKey !== null) data.uniqueKeys.take(job);
  return row;
}

/** An answer belongs to whoever gets it. */
function copied(jobs: readonly AcceptedJob[]): AcceptedJob[] {
  return jobs.map((job) => ({ ...job }));
}
