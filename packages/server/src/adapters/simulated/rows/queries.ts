import { RUN_NODE } from "../../../domain/execution.ts";
import type { ExecutionId, JobId } from "../../../domain/ids.ts";
import type { JobState, JobType } from "../../../domain/job.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import type {
  BacklogOfPool,
  BoundedCount,
  ExecutionCounts,
  ExecutionFilter,
  ExecutionSummary,
  ExecutionView,
  IdRange,
  JobFilter,
  JobSummary,
  JobView,
  Listing,
  Page,
} from "../../../ports/store-queries.ts";
import type { NodeOfRun } from "../../../ports/store-runs.ts";
import { byText } from "../sorted-list.ts";
import type { StoreData } from "../store-data.ts";
import { type ExecutionRow, isChildRun, isNode } from "./execution-row.ts";
import type { JobRow } from "./job-table.ts";

const LATEST = 5;

export function getExecution(data: StoreData, tenant: string, id: ExecutionId): ExecutionView | null {
  const row = data.executions.get(id);
  if (row === undefined || row.job.tenant !== tenant) return null;
  const { requires, policy } = row.job.definition;
  const { result, error } = row;
  return {
    ...summary(row),
    requires,
    policy,
    payload: row.job.payload,
    result,
    error,
    attempts: [...row.attempts],
    hasSteps: row.steps !== null,
    ...(isNode(row) && { ofRun: ofRun(row) }),
    ...((row.node === RUN_NODE || isChildRun(row)) && { isRun: true }),
  };
}

const COUNTED_MAX = 10_000;

export function countListed(data: StoreData, tenant: string, filter: ExecutionFilter): BoundedCount {
  const { items, next } = listExecutions(data, tenant, filter, { after: null, limit: COUNTED_MAX });
  return { matching: items.length, hasMore: next !== null };
}

export function listExecutions(
  data: StoreData,
  tenant: string,
  filter: ExecutionFilter,
  page: Page,
): Listing<ExecutionSummary> {
  const { jobId, pool, handler, state, ids, labels = [], error, isOpen } = filter;
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = filter;
  const isAsked = (row: ExecutionRow) =>
    row.job.tenant === tenant &&
    !isNode(row) &&
    (jobId === undefined || row.job.jobId === jobId) &&
    isWithin(row.id, ids) &&
    (pool === undefined || row.job.definition.pool === pool) &&
    (handler === undefined || row.job.definition.handler === handler) &&
    (state === undefined || row.state === state) &&
    (isOpen === undefined || row.queue !== "NONE") &&
    hasLabels(data, row, labels) &&
    (error === undefined || hasText(row, error)) &&
    row.job.createdAt >= since &&
    row.job.createdAt < until;
  const rows: ExecutionRow[] = [];
  data.executions.newestFirst(page.after, (row) => {
    if (isAsked(row)) rows.push(row);
    return rows.length <= page.limit;
  });
  return listing(rows.map(summary), page.limit, (item) => item.executionId);
}

function hasLabels(data: StoreData, { job: { jobId } }: ExecutionRow, labels: readonly string[]): boolean {
  if (labels.length === 0) return true;
  const terms = termsOf(data.jobs.get(jobId)?.job.definition.labels ?? {});
  return labels.every((label) => terms.includes(label));
}

function hasText({ error }: ExecutionRow, text: string): boolean {
  return error !== null && `${error.name}: ${error.message}`.toLowerCase().includes(text.toLowerCase());
}

function isWithin(id: string, ids: IdRange | undefined): boolean {
  return ids === undefined || (id >= ids.first && id <= ids.last);
}

export function getJob(data: StoreData, tenant: string, id: JobId): JobView | null {
  const row = data.jobs.get(id);
  if (row === undefined || row.job.tenant !== tenant) return null;
  const { definition, payload } = row.job;
  const all = data.executions.ofJob(id).map((latest) => summary(data.executions.get(latest) as ExecutionRow));
  const planned = (item: ExecutionSummary) => (isRecurringJobId(id) ? item.scheduledAt : 0);
  const byAge = all.sort((a, b) => planned(b) - planned(a) || byText(b.executionId, a.executionId));
  const latestExecutions = byAge.slice(0, LATEST);
  return { ...jobSummary(data, row), definition, payload, latestExecutions };
}

export function listJobs(data: StoreData, tenant: string, filter: JobFilter, page: Page): Listing<JobSummary> {
  const { state, type, pool, handler, name, labels = [], ids } = filter;
  const isAsked = ({ job: { tenant: of, definition, jobId } }: JobRow) =>
    of === tenant &&
    isWithin(jobId, ids) &&
    (pool === undefined || definition.pool === pool) &&
    (handler === undefined || definition.handler === handler) &&
    (name === undefined || definition.name === name) &&
    (state === undefined || stateOf(data, jobId) === state) &&
    (type === undefined || typeOf(definition) === type) &&
    labels.every((label) => termsOf(definition.labels).includes(label));
  const jobs: JobRow[] = [];
  data.jobs.newestFirst(page.after, (job) => {
    if (isAsked(job)) jobs.push(job);
    return jobs.length <= page.limit;
  });
  return listing(
    jobs.map((job) => jobSummary(data, job)),
    page.limit,
    (item) => item.jobId,
  );
}

export function countExecutions(data: StoreData, tenant: string | null, limit: number): ExecutionCounts {
  const rows = [...data.executions.all()].filter(({ job }) => tenant === null || job.tenant === tenant);
  const upTo = (isCounted: (row: ExecutionRow) => boolean) => Math.min(limit, rows.filter(isCounted).length);
  return {
    waiting: upTo(({ queue }) => queue === "WAITING"),
    ready: upTo(({ queue }) => queue === "READY"),
    held: upTo(({ queue }) => queue === "HELD"),
    deadLetters: upTo((row) => row.state === "DEAD" && row.settled === null && !isNode(row)),
    openRuns: upTo(({ queue }) => queue === "OPEN"),
  };
}

export function backlog(data: StoreData, limit: number): BacklogOfPool[] {
  const heads = new Map<number, ExecutionRow>();
  const ready = new Map<string, number>();
  for (const row of data.executions.all()) {
    if (row.queue !== "READY") continue;
    const head = heads.get(row.job.laneHash);
    if (head === undefined || row.rank < head.rank) heads.set(row.job.laneHash, row);
    const { pool } = row.job.definition;
    ready.set(pool, (ready.get(pool) ?? 0) + 1);
  }
  const oldest = (pool: string) =>
    Math.min(...[...heads.values()].filter((row) => row.job.definition.pool === pool).map(({ dueAt }) => dueAt));
  return [...ready]
    .sort(([a], [b]) => byText(a, b))
    .map(([pool, count]) => ({ pool, ready: Math.min(limit, count), oldestDueAt: oldest(pool) }));
}

/** Makes a page of a list. The query has read one item more than the page, to see whether there are more. */
export function listing<T>(items: T[], limit: number, idOf: (item: T) => string): Listing<T> {
  if (items.length <= limit) return { items, next: null };
  return { items: items.slice(0, limit), next: idOf(items[limit - 1] as T) };
}

/** Run and node of the execution of a node. */
export function ofRun({ job, node, item, branch }: ExecutionRow): NodeOfRun {
  return { run: job.jobId, node: node ?? 0, item, branch };
}

export function summary(row: ExecutionRow): ExecutionSummary {
  const { job } = row;
  const { definition } = job;
  return {
    executionId: row.id,
    jobId: job.jobId,
    shard: job.shard,
    tenant: job.tenant,
    trigger: row.trigger,
    retryOf: row.retryOf,
    jobVersion: row.jobVersion,
    state: row.state,
    reason: row.reason,
    attempt: row.attempt,
    failures: row.failures,
    lost: row.lost,
    maxAttempts: definition.policy.retry.maxAttempts,
    pool: definition.pool,
    handler: definition.handler,
    priority: definition.priority,
    scheduledAt: definition.scheduledAt,
    dueAt: row.dueAt,
    workerId: row.workerId,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    createdAt: job.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** State of a job. A one-time job without open executions is finished; the plan holds the state of a recurring job. */
export function stateOf(data: StoreData, jobId: JobId): JobState {
  if (data.jobs.get(jobId)?.deletedAt != null) return "DELETED";
  const row = data.plans.get(jobId);
  if (row !== undefined) return row.plan.state;
  return data.executions.ofJob(jobId).some((id) => data.executions.get(id)?.queue !== "NONE") ? "ACTIVE" : "FINISHED";
}

function typeOf({ recurrence }: JobView["definition"]): JobType {
  return recurrence?.times.type ?? "ONCE";
}

function termsOf(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).flatMap(([key, value]) => [key, `${key}=${value}`]);
}

function jobSummary(data: StoreData, { job, version, updatedAt }: JobRow): JobSummary {
  const { name, pool, handler, priority, scheduledAt, labels } = job.definition;
  const { jobId, tenant, createdAt } = job;
  const [state, type] = [stateOf(data, jobId), typeOf(job.definition)];
  const row = data.plans.get(jobId);
  const plan = row === undefined ? null : { ...row.plan };
  return {
    ...{ jobId, tenant, name, state, type, version, plan, pool, handler, priority, scheduledAt, labels },
    ...{ createdAt, updatedAt },
  };
}
