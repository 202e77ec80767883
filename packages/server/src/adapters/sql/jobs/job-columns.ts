import { type ExecutionPolicy } from "../../../domain/job.ts";
import type { NewJob, NewRecurringJob } from "../../../ports/store.ts";
import { type AnyJob, isWorkflow, type NewWorkflow } from "../../../ports/store-runs.ts";
import { byteas, int2s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import { POLICY_OF_NULL } from "../connection/codes.ts";

/**
 * Columns that rows of all new jobs have, as the first parameters of a statement; further parameters start at `$17`.
 */
export const JOB_COLUMNS = `unnest($1::uuid[]) AS job_id, unnest($2::text[]) AS tenant, unnest($3::int2[]) AS shard,
    unnest($4::text[]) AS name, unnest($5::text[]) AS pool, unnest($6::text[]) AS handler, unnest($7::text[]) AS requires,
    unnest($8::int2[]) AS priority, unnest($9::int8[]) AS scheduled_at, unnest($10::text[]) AS policy,
    unnest($11::text[]) AS concurrency_key, unnest($12::int4[]) AS concurrency_limit, unnest($13::text[]) AS unique_key,
    unnest($14::text[]) AS labels, unnest($15::bytea[]) AS payload, unnest($16::int8[]) AS created_at`;

/** Values of `JOB_COLUMNS`, in the same order. */
export function jobColumns(rows: readonly AnyJob[]): unknown[] {
  return [
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
    byteas(rows, (r) => r.payload),
    int8s(rows, (r) => r.createdAt),
  ];
}

export function policyText(policy: ExecutionPolicy): string | null {
  return isPolicyOfNull(policy) ? null : JSON.stringify(policy);
}

function isPolicyOfNull(policy: ExecutionPolicy): boolean {
  const [a, b] = [policy, POLICY_OF_NULL];
  return (
    a.timeoutMs === b.timeoutMs &&
    a.maxLifetimeMs === b.maxLifetimeMs &&
    a.cancelGraceMs === b.cancelGraceMs &&
    a.maxLost === b.maxLost &&
    a.onWorkerLost === b.onWorkerLost &&
    a.startBefore === b.startBefore &&
    a.onFinish === b.onFinish &&
    a.traceparent === b.traceparent &&
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

export function isRecurring(job: AnyJob): job is NewRecurringJob {
  return job.executionId === null;
}

export function isOnce(job: AnyJob): job is NewJob {
  return job.executionId !== null && !isWorkflow(job);
}

/** Whether the job's unique key is held by its first execution, and not by each of its executions in turn. */
export function isKeyedAtOnce(job: AnyJob): job is NewJob | NewWorkflow {
  return job.executionId !== null;
}
