import type { NewRecurringJob } from "../../../ports/store.ts";
import { int8s, texts } from "../connection/arrays.ts";
import { PLAN_STATE_CODES } from "../connection/codes.ts";
import type { Statement } from "../connection/connections.ts";
import { JOB_COLUMNS, jobColumns } from "../jobs/job-columns.ts";

/** Inserts job and plan in one statement, so that neither is ever visible without the other. */
const TEXT = `
WITH n AS MATERIALIZED (
  SELECT ${JOB_COLUMNS}, unnest($17::text[]) AS recurrence, unnest($18::int8[]) AS first_fire_at,
    unnest($19::text[]) AS tzdata
), j AS (
  INSERT INTO jobs (id, created_at, updated_at, scheduled_at, concurrency_limit, priority, tenant, name, pool, handler,
    requires, policy, labels, concurrency_key, unique_key, recurrence, payload)
  SELECT job_id, created_at, created_at, scheduled_at, concurrency_limit, priority, tenant, name, pool, handler,
    requires, policy, labels, concurrency_key, unique_key, recurrence, payload FROM n
)
INSERT INTO plans (job_id, next_fire_at, created_at, revision, version, fired, shard, state, tzdata, tenant, pool)
SELECT job_id, first_fire_at, created_at, 1, 1, 0, shard, ${PLAN_STATE_CODES.ACTIVE}, tzdata, tenant, pool FROM n`;

/** Inserts recurring jobs and their plans, in order of their ids, so that adjacent rows are adjacent in every index. */
export function insertRecurringStatement(jobs: readonly NewRecurringJob[]): Statement {
  const rows = [...jobs].sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
  return {
    name: "insert_recurring",
    text: TEXT,
    values: [
      ...jobColumns(rows),
      texts(rows, (r) => JSON.stringify(r.definition.recurrence)),
      int8s(rows, (r) => r.firstFireAt),
      texts(rows, (r) => r.tzdata),
    ],
  };
}
