import type { JobFilter, JobSummary, JobView, Listing, Page } from "../../ports/store-queries.ts";
import { policyFrom, requiresFrom } from "./candidates.ts";
import { QUEUE_CODES } from "./codes.ts";
import type { Connections, Row } from "./connections.ts";
import { SUMMARY_COLUMNS, summaryFrom } from "./execution-rows.ts";
import { Conditions, listing } from "./query.ts";

/** A job without executions that may still run is finished. Written as three equalities, each of a partial index. */
const IS_ACTIVE = `EXISTS (SELECT FROM executions x WHERE x.job_id = j.id AND (x.queue = ${QUEUE_CODES.WAITING}
  OR x.queue = ${QUEUE_CODES.READY} OR x.queue = ${QUEUE_CODES.HELD}))`;

const SUMMARY = `j.id, j.tenant, j.name, ${IS_ACTIVE}, j.version, j.pool, j.handler, j.priority, j.scheduled_at,
  j.labels, j.created_at, j.updated_at`;

const DETAILS = "j.requires, j.policy, j.concurrency_key, j.concurrency_limit, j.unique_key, j.payload";

const LATEST = `SELECT ${SUMMARY_COLUMNS} FROM executions e WHERE e.job_id = $1 AND e.tenant = $2
  ORDER BY e.id DESC LIMIT 5`;

type SummaryRow = [
  jobId: string,
  tenant: string,
  name: string | null,
  active: boolean,
  version: number,
  pool: string,
  handler: string,
  priority: number,
  scheduledAt: number,
  labels: string | null,
  createdAt: number,
  updatedAt: number,
];

type DetailRow = [
  requires: string | null,
  policy: string | null,
  concurrencyKey: string | null,
  concurrencyLimit: number,
  uniqueKey: string | null,
  payload: Uint8Array | null,
];

export async function getJob(db: Connections, tenant: string, id: string): Promise<JobView | null> {
  const text = `SELECT ${SUMMARY}, ${DETAILS} FROM jobs j WHERE j.id = $1 AND j.tenant = $2`;
  const [row] = await db.run("query", { text, values: [id, tenant] });
  if (row === undefined) return null;
  const latest = await db.run("query", { text: LATEST, values: [id, tenant] });
  return { ...jobView(row), latestExecutions: latest.map(summaryFrom) };
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
  if (filter.state !== undefined) where.fixed(filter.state === "ACTIVE" ? IS_ACTIVE : `NOT ${IS_ACTIVE}`);
  const text = `SELECT ${SUMMARY} FROM jobs j WHERE ${where.text} ORDER BY j.id DESC LIMIT ${page.limit + 1}`;
  const rows = await db.run("query", { text, values: where.values });
  return listing(rows.map(jobSummary), page.limit, (item) => item.jobId);
}

function jobSummary(row: Row): JobSummary {
  const r = row as SummaryRow;
  return {
    jobId: r[0],
    tenant: r[1],
    name: r[2],
    state: r[3] ? "ACTIVE" : "FINISHED",
    version: r[4],
    pool: r[5],
    handler: r[6],
    priority: r[7],
    scheduledAt: r[8],
    labels: r[9] === null ? {} : (JSON.parse(r[9]) as Record<string, string>),
    createdAt: r[10],
    updatedAt: r[11],
  };
}

function jobView(row: Row): Omit<JobView, "latestExecutions"> {
  const summary = jobSummary(row);
  const [requires, policy, concurrencyKey, concurrencyLimit, uniqueKey, payload] = row.slice(12) as DetailRow;
  const { name, pool, handler, priority, scheduledAt, labels } = summary;
  return {
    ...summary,
    payload,
    definition: {
      name,
      pool,
      handler,
      requires: requiresFrom(requires),
      priority,
      scheduledAt,
      policy: policyFrom(policy),
      concurrencyKey,
      concurrencyLimit,
      uniqueKey,
      labels,
    },
  };
}
