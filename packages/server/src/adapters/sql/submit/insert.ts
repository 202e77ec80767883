import type { NewJob } from "../../../ports/store.ts";
import { float8s, int2s, int8s, uuids } from "../connection/arrays.ts";
import { QUEUE_CODES, STATE_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import type { Statement } from "../connection/connections.ts";
import { JOB_COLUMNS, jobColumns } from "../jobs/job-columns.ts";

/** Both rows of each job, in one statement: a job is never seen without its execution. */
const TEXT = `
WITH n AS MATERIALIZED (
  SELECT ${JOB_COLUMNS}, unnest($17::uuid[]) AS id, unnest($18::int8[]) AS lane, unnest($19::float8[]) AS rank,
    unnest($20::int2[]) AS queue
), j AS (
  INSERT INTO jobs (id, created_at, updated_at, scheduled_at, concurrency_limit, priority, tenant, name, pool, handler,
    requires, policy, labels, concurrency_key, unique_key, payload)
  SELECT job_id, created_at, created_at, scheduled_at, concurrency_limit, priority, tenant, name, pool, handler,
    requires, policy, labels, concurrency_key, unique_key, payload FROM n
)
INSERT INTO executions (id, job_id, lane, rank, due_at, scheduled_at, created_at, updated_at, concurrency_limit,
  payload_bytes, shard, state, queue, priority, trigger, has_unique_key, tenant, pool, handler, requires, policy,
  concurrency_key)
SELECT id, job_id, lane, rank, scheduled_at, scheduled_at, created_at, created_at, concurrency_limit,
  coalesce(octet_length(payload), 0), shard, ${STATE_CODES.PENDING}, queue, priority, ${TRIGGER_CODES.API},
  unique_key IS NOT NULL, tenant, pool, handler, requires, policy, concurrency_key FROM n`;

/** Inserts the jobs and their first executions, in order of their ids: neighbours lie together in every index. */
export function insertStatement(jobs: readonly NewJob[]): Statement {
  const rows = sorted(jobs);
  return {
    name: "insert",
    text: TEXT,
    values: [
      ...jobColumns(rows),
      uuids(rows, (r) => r.executionId),
      int8s(rows, (r) => r.laneHash),
      float8s(rows, (r) => r.rank),
      int2s(rows, (r) => QUEUE_CODES[r.queue]),
    ],
  };
}

function sorted(jobs: readonly NewJob[]): readonly NewJob[] {
  for (let i = 1; i < jobs.length; i++) {
    if ((jobs[i - 1] as NewJob).executionId > (jobs[i] as NewJob).executionId) {
      return [...jobs].sort((a, b) => (a.executionId < b.executionId ? -1 : 1));
    }
  }
  return jobs;
}
