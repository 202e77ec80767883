import type { JobDefinition, JobState, JobType } from "../../domain/job.ts";
import { isRecurringJobId } from "../../domain/recurrence.ts";
import type { JobFilter, JobSummary, JobView, Listing, Page } from "../../ports/store-queries.ts";
import { PLAN_STATE_CODES, QUEUE_CODES } from "./codes.ts";
import type { Connections, Row } from "./connections.ts";
import { SUMMARY_COLUMNS, summaryFrom } from "./execution-rows.ts";
import { DEFINITION_COLUMNS, definitionFrom } from "./job-definitions.ts";
import { PLAN_COLUMNS, PLAN_LENGTH, planFrom } from "./plan-rows.ts";
import { Conditions, listing } from "./query.ts";

/** A one-time job without executions that may still run is finished. Written as three equalities, each of a partial index. */
const IS_ACTIVE = `EXISTS (SELECT FROM executions x WHERE x.job_id = j.id AND (x.queue = ${QUEUE_CODES.WAITING}
  OR x.queue = ${QUEUE_CODES.READY} OR x.queue = ${QUEUE_CODES.HELD}))`;

/** What becomes of a recurring one is in its plan. */
const STATE = `CASE WHEN j.deleted_at IS NOT NULL THEN 'DELETED' WHEN p.job_id IS NULL THEN
  CASE WHEN ${IS_ACTIVE} THEN 'ACTIVE' ELSE 'FINISHED' END END`;

const SUMMARY = `j.id, j.tenant, ${STATE}, j.version, j.created_at, j.updated_at, ${PLAN_COLUMNS}, ${DEFINITION_COLUMNS}`;
const TABLES = "jobs j LEFT JOIN plans p ON p.job_id = j.id";

const CONDITIONS: Readonly<Record<JobState, string>> = {
  ACTIVE: `j.deleted_at IS NULL AND CASE WHEN p.job_id IS NULL THEN ${IS_ACTIVE} ELSE p.state = ${PLAN_STATE_CODES.ACTIVE} END`,
  PAUSED: `j.deleted_at IS NULL AND p.state = ${PLAN_STATE_CODES.PAUSED}`,
  FINISHED: `j.deleted_at IS NULL AND
    CASE WHEN p.job_id IS NULL THEN NOT ${IS_ACTIVE} ELSE p.state = ${PLAN_STATE_CODES.FINISHED} END`,
  DELETED: "j.deleted_at IS NOT NULL",
};

/** The bounds say nothing new of the type, but where such jobs are. */
const RECURRING_IDS = "'80000000-0000-0000-0000-000000000000'";
const TYPES: Readonly<Record<JobType, string>> = {
  ONCE: `j.recurrence IS NULL AND j.id < ${RECURRING_IDS}`,
  CRON: `j.recurrence::json #>> '{times,type}' = 'CRON' AND j.id >= ${RECURRING_IDS}`,
  INTERVAL: `j.recurrence::json #>> '{times,type}' = 'INTERVAL' AND j.id >= ${RECURRING_IDS}`,
};

const LATEST = `SELECT ${SUMMARY_COLUMNS} FROM executions e WHERE e.job_id = $1 AND e.tenant = $2 ORDER BY`;
const NEWEST = `${LATEST} e.id DESC LIMIT 5`;
/** There may be millions of them, and their planned instants are what they are indexed by. */
const LAST_PLANNED = `${LATEST} e.scheduled_at DESC, e.id DESC LIMIT 5`;

type SummaryRow = [
  jobId: string,
  tenant: string,
  state: JobState | null,
  version: number,
  createdAt: number,
  updatedAt: number,
  /** null: a one-time job. */
  planVersion: number | null,
];
/** Up to the plan. */
const SUMMARY_LENGTH = 6;

export async function getJob(db: Connections, tenant: string, id: string): Promise<JobView | null> {
  const text = `SELECT ${SUMMARY}, j.payload FROM ${TABLES} WHERE j.id = $1 AND j.tenant = $2`;
  const [row] = await db.run("query", { text, values: [id, tenant] });
  if (row === undefined) return null;
  const latest = await db.run("query", {
    text: isRecurringJobId(id) ? LAST_PLANNED : NEWEST,
    values: [id, tenant],
  });
  const payload = row.at(-1) as Uint8Array | null;
  return { ...jobSummary(row), definition: definitionOf(row), payload, latestExecutions: latest.map(summaryFrom) };
}

export async function listJobs(
  db: Connections,
  tenant: string,
  filter: JobFilter,
  page: Page,
): Promise<Listing<JobSummary>> {
  const where = new Conditions().add("j.tenant = ?", tenant);
  if (page.after !== null) where.add("j.id < ?", page.after);
  if (filter.ids !== undefined) where.add("j.id >= ?", filter.ids.first).add("j.id <= ?", filter.ids.last);
  if (filter.pool !== undefined) where.add("j.pool = ?", filter.pool);
  if (filter.handler !== undefined) where.add("j.handler = ?", filter.handler);
  if (filter.name !== undefined) where.add("j.name = ?", filter.name);
  if (filter.type !== undefined) where.fixed(TYPES[filter.type]);
  if (filter.state !== undefined) where.fixed(CONDITIONS[filter.state]);
  if (filter.labels !== undefined) {
    // What has no labels is not in the index.
    where.fixed("j.labels IS NOT NULL").add("label_terms(j.labels) @> ?", filter.labels);
  }
  const text = `SELECT ${SUMMARY} FROM ${TABLES} WHERE ${where.text} ORDER BY j.id DESC LIMIT ${page.limit + 1}`;
  const rows = await db.run("query", { text, values: where.values });
  return listing(rows.map(jobSummary), page.limit, (item) => item.jobId);
}

function jobSummary(row: Row): JobSummary {
  const [jobId, tenant, known, version, createdAt, updatedAt, planVersion] = row as SummaryRow;
  const { name, pool, handler, priority, scheduledAt, labels, recurrence } = definitionOf(row);
  const plan = planVersion === null ? null : planFrom(row.slice(SUMMARY_LENGTH, SUMMARY_LENGTH + PLAN_LENGTH));
  const state = known ?? (plan?.state as JobState);
  const type = recurrence?.times.type ?? "ONCE";
  return {
    ...{ jobId, tenant, name, state, type, version, plan, pool, handler, priority, scheduledAt, labels },
    ...{ createdAt, updatedAt },
  };
}

function definitionOf(row: Row): JobDefinition {
  return definitionFrom(row.slice(SUMMARY_LENGTH + PLAN_LENGTH));
}
