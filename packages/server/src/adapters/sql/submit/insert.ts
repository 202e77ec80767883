import { certainBlock } from "../../../ports/event-blocks.ts";
import type { NewJob, Submission } from "../../../ports/store.ts";
import { inboxOfJobs } from "../../../ports/told-events.ts";
import { byteas, float8s, int2s, int8s, texts, uuids } from "../connection/arrays.ts";
import { QUEUE_CODES, STATE_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import type { Statement } from "../connection/connections.ts";
import { JOB_COLUMNS, jobColumns } from "../jobs/job-columns.ts";
import { claimKeys, claimValues, type Idempotency } from "./idempotency-keys.ts";

/** New jobs, as the arrays of `insertValues`; further parameters start at `$21`. */
export const NEW_JOBS = `
  SELECT ${JOB_COLUMNS}, unnest($17::uuid[]) AS id, unnest($18::int8[]) AS lane, unnest($19::float8[]) AS rank,
    unnest($20::int2[]) AS queue`;

/** Writes the row of each of the jobs n. */
export const INSERT_JOBS = `
  INSERT INTO jobs (id, created_at, updated_at, scheduled_at, concurrency_limit, priority, tenant, name, pool, handler,
    requires, policy, labels, concurrency_key, unique_key, payload)
  SELECT job_id, created_at, created_at, scheduled_at, concurrency_limit, priority, tenant, name, pool, handler,
    requires, policy, labels, concurrency_key, unique_key, payload FROM n`;

/** Writes the first execution of each of the jobs n. */
export const INSERT_EXECUTIONS = `
INSERT INTO executions (id, job_id, lane, rank, due_at, scheduled_at, created_at, updated_at, concurrency_limit,
  payload_bytes, shard, state, queue, priority, trigger, has_unique_key, tenant, pool, handler, requires, policy,
  concurrency_key)
SELECT id, job_id, lane, rank, scheduled_at, scheduled_at, created_at, created_at, concurrency_limit,
  coalesce(octet_length(payload), 0), shard, ${STATE_CODES.PENDING}, queue, priority, ${TRIGGER_CODES.API},
  unique_key IS NOT NULL, tenant, pool, handler, requires, policy, concurrency_key FROM n`;

/** Inserts both rows of each job in one statement, so that a job is never visible without its execution. */
const INSERT = `WITH n AS MATERIALIZED (${NEW_JOBS}), j AS (${INSERT_JOBS}) ${INSERT_EXECUTIONS}`;

/** The jobs whose idempotency key is free, together with these keys. @param isTelling whether each leaves its events */
const insertClaimed = (isTelling: boolean) => `
WITH k AS (${claimKeys(21)}), n AS MATERIALIZED (
  SELECT w.* FROM (${NEW_JOBS}, unnest($26::text[]) AS key_tenant, unnest($27::text[]) AS key${
    isTelling ? ", unnest($28::bytea[]) AS events" : ""
  }) w
  JOIN k ON k.tenant = w.key_tenant AND k.key = w.key ORDER BY w.id
), j AS (${INSERT_JOBS}), e AS (${INSERT_EXECUTIONS})${
  isTelling ? ", told AS (INSERT INTO event_inbox (id, shard, events) SELECT id, shard, events FROM n)" : ""
}
SELECT tenant, key FROM k`;

const INSERT_CLAIMED = insertClaimed(false);
const INSERT_CLAIMED_TELLING = insertClaimed(true);

/**
 * Inserts the jobs and their first executions, in order of their ids, so that adjacent rows are adjacent in every
 * index.
 */
export function insertStatement(jobs: readonly NewJob[]): Statement {
  return { name: "insert", text: INSERT, values: insertValues(jobs) };
}

/** Values of `NEW_JOBS`. */
export function insertValues(jobs: readonly NewJob[]): unknown[] {
  return columnsOf(sorted(jobs));
}

/** A submission of one job that has no key but the submission's own. */
export interface KeyedJob extends Submission {
  idempotency: Idempotency;
  jobs: readonly [NewJob];
}

/**
 * Takes the idempotency keys that are free, and inserts their jobs, in one statement: a transaction of several statements
 * costs a submit of one job several times as much.
 * @returns a statement that answers with the keys that it took
 */
export function insertClaimedStatement(submissions: readonly KeyedJob[], now: number, isTelling = false): Statement {
  const keyOf = new Map(submissions.map(({ jobs: [job], idempotency }) => [job, idempotency]));
  const rows = sorted([...keyOf.keys()]);
  const keys = rows.map((row) => keyOf.get(row) as Idempotency);
  return {
    ...(isTelling
      ? { name: "insert_claimed_telling", text: INSERT_CLAIMED_TELLING }
      : { name: "insert_claimed", text: INSERT_CLAIMED }),
    values: [
      ...columnsOf(rows),
      ...claimValues(submissions, now),
      texts(keys, ({ tenant }) => tenant),
      texts(keys, ({ key }) => key),
      ...(isTelling ? [byteas(rows, (row) => blockOf(row))] : []),
    ],
  };
}

function blockOf(job: NewJob): Uint8Array {
  return certainBlock(inboxOfJobs([job]).flatMap(({ events }) => events));
}

function columnsOf(rows: readonly NewJob[]): unknown[] {
  return [
    ...jobColumns(rows),
    uuids(rows, (r) => r.executionId),
    int8s(rows, (r) => r.laneHash),
    float8s(rows, (r) => r.rank),
    int2s(rows, (r) => QUEUE_CODES[r.queue]),
  ];
}

function sorted(jobs: readonly NewJob[]): readonly NewJob[] {
  for (let i = 1; i < jobs.length; i++) {
    if ((jobs[i - 1] as NewJob).executionId > (jobs[i] as NewJob).executionId) {
      return [...jobs].sort((a, b) => (a.executionId < b.executionId ? -1 : 1));
    }
  }
  return jobs;
}
