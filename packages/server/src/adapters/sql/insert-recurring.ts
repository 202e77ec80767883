import type { NewJob, NewRecurringJob } from "../../ports/store.ts";
import { byteas, int2s, int4s, int8s, texts, uuids } from "./arrays.ts";
import { PLAN_STATE_CODES } from "./codes.ts";
import type { Statement } from "./connections.ts";
import { labelsText, policyText, requiresText } from "./insert.ts";

/** Job and plan of each, in one statement: neither is ever seen without the other. */
const TEXT = `
WITH n AS MATERIALIZED (
  SELECT unnest($1::uuid[]) AS id, unnest($2::text[]) AS tenant, unnest($3::int2[]) AS shard, unnest($4::text[]) AS name,
    unnest($5::text[]) AS pool, unnest($6::text[]) AS handler, unnest($7::text[]) AS requires,
    unnest($8::int2[]) AS priority, unnest($9::int8[]) AS scheduled_at, unnest($10::text[]) AS policy,
    unnest($11::text[]) AS concurrency_key, unnest($12::int4[]) AS concurrency_limit, unnest($13::text[]) AS unique_key,
    unnest($14::text[]) AS labels, unnest($15::text[]) AS recurrence, unnest($16::bytea[]) AS payload,
    unnest($17::int8[]) AS created_at, unnest($18::int8[]) AS first_fire_at, unnest($19::text[]) AS tzdata
), j AS (
  INSERT INTO jobs (id, created_at, updated_at, scheduled_at, concurrency_limit, priority, tenant, name, pool, handler,
    requires, policy, labels, concurrency_key, unique_key, recurrence, payload)
  SELECT id, created_at, created_at, scheduled_at, concurrency_limit, priority, tenant, name, pool, handler,
    requires, policy, labels, concurrency_key, unique_key, recurrence, payload FROM n
)
INSERT INTO plans (job_id, next_fire_at, created_at, revision, version, fired, shard, state, tzdata)
SELECT id, first_fire_at, created_at, 1, 1, 0, shard, ${PLAN_STATE_CODES.ACTIVE}, tzdata FROM n`;

/** Inserts recurring jobs and their plans, in order of their ids: neighbours lie together in every index. */
export function insertRecurringStatement(jobs: readonly NewRecurringJob[]): Statement {
  const rows = [...jobs].sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
  return {
    name: "insert_recurring",
    text: TEXT,
    values: [
      uuids(rows, (r) => r.jobId),
      texts(rows, (r) => r.tenant),
      int2s(rows, (r) => r.shard),
      texts(rows, (r) => r.definition.name),
      texts(rows, (r) => r.definition.pool),
      texts(rows, (r) => r.definition.handler),
      texts(rows, (r) => requiresText(r.definition.requires)),
      int2s(rows, (r) => r.definition.priority),
      int8s(rows, (r) => r.definition.scheduledAt),
      texts(rows, (r) => policyText(r.definition.policy)),
      texts(rows, (r) => r.definition.concurrencyKey),
      int4s(rows, (r) => r.definition.concurrencyLimit),
      texts(rows, (r) => r.definition.uniqueKey),
      texts(rows, (r) => labelsText(r.definition.labels)),
      texts(rows, (r) => JSON.stringify(r.definition.recurrence)),
      byteas(rows, (r) => r.payload),
      int8s(rows, (r) => r.createdAt),
      int8s(rows, (r) => r.firstFireAt),
      texts(rows, (r) => r.tzdata),
    ],
  };
}

export function isRecurring(job: NewJob | NewRecurringJob): job is NewRecurringJob {
  return job.executionId === null;
}

export function isOnce(job: NewJob | NewRecurringJob): job is NewJob {
  return job.executionId !== null;
}
