import type { JobDefinition, JobState } from "../../domain/job.ts";
import type { JobFilter, JobSummary, JobView, Listing, Page } from "../../ports/store-queries.ts";
import { QUEUE_CODES } from "./codes.ts";
import type { Connections, Row } from "./connections.ts";
import { SUMMARY_COLUMNS, summaryFrom } from "./execution-rows.ts";
import { DEFINITION_COLUMNS, definitionFrom } from "./job-definitions.ts";
import { Conditions, listing } from "./query.ts";

/** A job without executions that may still run is finished. Written as three equalities, each of a partial index. */
const IS_ACTIVE = `EXISTS (SELECT FROM executions x WHERE x.job_id = j.id AND (x.queue = ${QUEUE_CODES.WAITING}
  OR x.queue = ${QUEUE_CODES.READY} OR x.queue = ${QUEUE_CODES.HELD}))`;

const STATE = `CASE WHEN j.deleted_at IS NOT NULL THEN 'DELETED' WHEN ${IS_ACTIVE} THEN 'ACTIVE' ELSE 'FINISHED' END`;

const SUMMARY = `j.id, j.tenant, ${STATE}, j.version, j.created_at, j.updated_at, ${DEFINITION_COLUMNS}`;

const CONDITIONS: Readonly<Record<JobState, string>> = {
  ACTIVE: `j.deleted_at IS NULL AND ${IS_ACTIVE}`,
  FINISHED: `j.deleted_at IS NULL AND NOT ${IS_ACTIVE}`,
  DELETED: "j.deleted_at IS NOT NULL",
};

const LATEST = `SELECT ${SUMMARY_COLUMNS} FROM executions e WHERE e.job_id = $1 AND e.tenant = $2
  ORDER BY e.id DESC LIMIT 5`;

type SummaryRow = [
  jobId: string,
  tenant: string,
  state: JobState,
  version: number,
  createdAt: number,
  updatedAt: number,
];
const SUMMARY_LENGTH = 6;

export async function getJob(db: Connections, tenant: string, id: string): Promise<JobView | null> {
  const text = `SELECT ${SUMMARY}, j.payload FROM jobs j WHERE j.id = $1 AND j.tenant = $2`;
  const [row] = await db.run("query", { text, values: [id, tenant] });
  if (row === undefined) return null;
  const latest = await db.run("query", { text: LATEST, values: [id, tenant] });
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
  if (filter.pool !== undefined) where.add("j.pool = ?", filter.pool);
  if (filter.handler !== undefined) where.add("j.handler = ?", filter.handler);
  if (filter.name !== undefined) where.add("j.name = ?", filter.name);
  if (filter.state !== undefined) where.fixed(CONDITIONS[filter.state]);
  if (filter.labels !== undefined) {
    // What has no labels is not in the index.
    where.fixed("j.labels IS NOT NULL").add("label_terms(j.labels) @> ?", filter.labels);
  }
  const text = `SELECT ${SUMMARY} FROM jobs j WHERE ${where.text} ORDER BY j.id DESC LIMIT ${page.limit + 1}`;
  const rows = await db.run("query", { text, values: where.values });
  return listing(rows.map(jobSummary), page.limit, (item) => item.jobId);
}

function jobSummary(row: Row): JobSummary {
  const [jobId, tenant, state, version, createdAt, updatedAt] = row as SummaryRow;
  const { name, pool, handler, priority, scheduledAt, labels } = definitionOf(row);
  return {
    ...{ jobId, tenant, name, state, version, pool, handler, priority, scheduledAt, labels, createdAt, updatedAt },
  };
}

function definitionOf(row: Row): JobDefinition {
  return definitionFrom(row.slice(SUMMARY_LENGTH));
}
