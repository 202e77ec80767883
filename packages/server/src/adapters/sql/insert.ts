import { type ExecutionPolicy } from "../../domain/job.ts";
import type { NewJob } from "../../ports/store.ts";
import { byteas, float8s, int2s, int4s, int8s, texts, uuids } from "./arrays.ts";
import { POLICY_OF_NULL, QUEUE_CODES, STATE_CODES, TRIGGER_CODES } from "./codes.ts";
import type { Statement } from "./connections.ts";

/** Both rows of each job, in one statement: a job is never seen without its execution. */
const TEXT = `
WITH n AS MATERIALIZED (
  SELECT unnest($1::uuid[]) AS job_id, unnest($2::uuid[]) AS id, unnest($3::text[]) AS tenant, unnest($4::int2[]) AS shard,
    unnest($5::text[]) AS name, unnest($6::text[]) AS pool, unnest($7::text[]) AS handler, unnest($8::text[]) AS requires,
    unnest($9::int2[]) AS priority, unnest($10::int8[]) AS scheduled_at, unnest($11::text[]) AS policy,
    unnest($12::text[]) AS concurrency_key, unnest($13::int4[]) AS concurrency_limit, unnest($14::text[]) AS unique_key,
    unnest($15::text[]) AS labels, unnest($16::int8[]) AS lane, unnest($17::float8[]) AS rank,
    unnest($18::int2[]) AS queue, unnest($19::bytea[]) AS payload, unnest($20::int8[]) AS created_at
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
      uuids(rows, (r) => r.jobId),
      uuids(rows, (r) => r.executionId),
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
      int8s(rows, (r) => r.laneHash),
      float8s(rows, (r) => r.rank),
      int2s(rows, (r) => QUEUE_CODES[r.queue]),
      byteas(rows, (r) => r.payload),
      int8s(rows, (r) => r.createdAt),
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

export function policyText(policy: ExecutionPolicy): string | null {
  return isPolicyOfNull(policy) ? null : JSON.stringify(policy);
}

function isPolicyOfNull(policy: ExecutionPolicy): boolean {
  const [a, b] = [policy, POLICY_OF_NULL];
  return (
    a.timeoutMs === b.timeoutMs &&
    a.cancelGraceMs === b.cancelGraceMs &&
    a.maxLost === b.maxLost &&
    a.onWorkerLost === b.onWorkerLost &&
    a.startBefore === b.startBefore &&
    a.retry.maxAttempts === b.retry.maxAttempts &&
    a.retry.backoff === b.retry.backoff &&
    a.retry.initialDelayMs === b.retry.initialDelayMs &&
    a.retry.maxDelayMs === b.retry.maxDelayMs &&
    a.retry.jitter === b.retry.jitter
  );
}

export function requiresText(requires: readonly string[]): string | null {
  return requires.length === 0 ? null : JSON.stringify(requires);
}

export function labelsText(labels: Readonly<Record<string, string>>): string | null {
  for (const _ in labels) return JSON.stringify(labels);
  return null;
}
