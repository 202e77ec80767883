import type { JobFilter, JobSummary, Listing, Page } from "../../../ports/store-queries.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";
import { Conditions, listing } from "../connection/query.ts";
import {
  FIRST_ID,
  FIRST_RECURRING_ID,
  hasOwnIndex,
  type IdRange,
  LAST_ID,
  LOOKED_AT,
  later,
  newestOf,
  ofTenant,
  SPARSE,
  walked,
  within,
} from "../executions/list-walk.ts";
import { isLater } from "../executions/of-job.ts";
import { isComplete } from "../schema/late-indexes.ts";
import { hasRuns } from "../workflows/hidden-nodes.ts";
import { IS_FIRST_OPEN, jobSummary, SUMMARY, stateCondition, TABLES } from "./job-rows.ts";
import { finishedPlans, type JobSource, jobSource } from "./job-sources.ts";

interface Asked {
  tenant: string;
  filter: JobFilter;
  page: Page;
  range: IdRange;
}

const SHOWN = { itemOf: jobSummary, idOf: (item: JobSummary) => item.jobId };
/** Number of jobs from an index that one page examines, */
const LED_TO = 2_000;
/** and that number if the page must also check each job for executions that are not final. */
const LED_TO_ACTIVE = 400;
/**
 * Number of the newest jobs that are searched for a label before the index of labels is used, because a common label is
 * found among them.
 */
const GLANCE = 1_000;

/**
 * See StoreQueries.listJobs. If an index fits the filter, the page examines a bounded number of its jobs; otherwise it
 * examines the newest jobs. Each statement orders its rows as its index does, so that statistics cannot make the
 * planner choose another index.
 */
export function listJobs(db: Connections, tenant: string, filter: JobFilter, page: Page): Promise<Listing<JobSummary>> {
  const asked = { tenant, filter, page, range: rangeOf(filter, page) };
  return db.session("list", async (session) => {
    const { name, labels, state } = filter;
    // The rows of other tenants say nothing about how many jobs of this one there are.
    if (hasOwnIndex(tenant) && name === undefined) return walk(session, asked);
    if (name === undefined && labels !== undefined) return labelled(session, asked, labels);
    const source = await jobSource(session, tenant, filter);
    if (source !== null) return ledTo(session, asked, source);
    return state === "ACTIVE" || state === "FINISHED" ? inTurn(session, asked) : walk(session, asked);
  });
}

/** Range of ids for a filter. Ids of recurring jobs are in a range of their own. */
function rangeOf({ type, ids }: JobFilter, { after }: Page): IdRange {
  const until = after ?? LAST_ID;
  const isRecurring = type !== undefined && type !== "ONCE";
  const end = type === "ONCE" && until > FIRST_RECURRING_ID ? FIRST_RECURRING_ID : until;
  return within({ from: isRecurring ? FIRST_RECURRING_ID : FIRST_ID, until: end }, ids);
}

/** The next jobs of a source, the newest first. */
async function ledTo(session: Session, asked: Asked, source: JobSource): Promise<Listing<JobSummary>> {
  const { filter, page, range } = asked;
  const max = filter.state === "ACTIVE" || filter.state === "FINISHED" ? LED_TO_ACTIVE : LED_TO;
  const { ids, rest } = await source(range, Math.max(max, page.limit + 1));
  const rows = await byIds(session, asked, ids);
  return walked(rows, { from: ids.at(-1) ?? FIRST_ID, until: range.until, rest }, page.limit, SHOWN);
}

/**
 * Reads jobs by one index lookup for each id, whatever the statistics say: the planner may assume that the table is
 * empty and read all of it.
 */
async function byIds(session: Session, asked: Asked, ids: readonly string[]): Promise<Row[]> {
  if (ids.length === 0) return [];
  const where = matching(asked);
  const newestFirst = ids.toSorted((a, b) => (a < b ? 1 : -1));
  const text = `SELECT ${SUMMARY} FROM unnest(${where.value(newestFirst)}::uuid[]) WITH ORDINALITY u (id, place),
    LATERAL (SELECT r.* FROM jobs r WHERE r.id = u.id OFFSET 0) j LEFT JOIN plans p ON p.job_id = j.id
    WHERE ${where.text} ORDER BY u.place LIMIT ${asked.page.limit + 1}`;
  return session.run({ text, values: where.values });
}

/** Lists recurring jobs before one-time jobs, because each kind has its own condition for being active. */
async function inTurn(session: Session, asked: Asked): Promise<Listing<JobSummary>> {
  const { range, page } = asked;
  const first = { ...asked, range: { from: later(range.from, FIRST_RECURRING_ID), until: range.until } };
  const recurring =
    range.until > FIRST_RECURRING_ID ? await recurringByState(session, first) : { items: [], next: null };
  if (recurring.next !== null) return recurring;
  const limit = page.limit - recurring.items.length;
  if (limit === 0) return { ...recurring, next: FIRST_RECURRING_ID };
  const until = range.until < FIRST_RECURRING_ID ? range.until : FIRST_RECURRING_ID;
  const once = await onceByState(session, { ...asked, page: { ...page, limit }, range: { from: range.from, until } });
  return { items: [...recurring.items, ...once.items], next: once.next };
}

function recurringByState(session: Session, asked: Asked): Promise<Listing<JobSummary>> {
  return asked.filter.state === "FINISHED" ? ledTo(session, asked, finishedPlans(session)) : walk(session, asked);
}

async function onceByState(session: Session, asked: Asked): Promise<Listing<JobSummary>> {
  const active = asked.filter.state === "ACTIVE" ? await activeOnce(session, asked) : null;
  return active ?? walk(session, asked);
}

/** Jobs of executions that are not final; null: there are too many. */
async function activeOnce(session: Session, asked: Asked): Promise<Listing<JobSummary> | null> {
  if (!(await isComplete(session, "executions_open_runs"))) return null;
  const parts = OPEN.map((open) => `(SELECT e.job_id FROM executions e WHERE ${open} LIMIT ${SPARSE})`);
  const rows = await session.run({
    text: `SELECT DISTINCT o.job_id FROM (${parts.join(" UNION ALL ")}) o LIMIT ${LED_TO_ACTIVE + 1}`,
  });
  if (rows.length > LED_TO_ACTIVE) return null;
  const ids = rows.map(([id]) => id as string);
  const found = await byIds(session, asked, ids);
  return listing(found.map(jobSummary), asked.page.limit, SHOWN.idOf);
}

/** Conditions for the indexes by which owners read, each in the order of its index. */
const OPEN = [
  `e.queue = ${QUEUE_CODES.WAITING} ORDER BY e.due_at, e.id`,
  `e.queue = ${QUEUE_CODES.READY} ORDER BY e.lane, e.rank, e.id`,
  `e.queue = ${QUEUE_CODES.HELD} ORDER BY e.shard`,
  `e.queue = ${QUEUE_CODES.OPEN} ORDER BY e.due_at, e.id`,
];

/** @param most largest number of rows to examine; default: as many as a page may */
async function walk(session: Session, asked: Asked, most?: number): Promise<Listing<JobSummary>> {
  const looked = await newestOf(session, "jobs", asked.tenant, asked.range, most);
  const { state } = asked.filter;
  const isByState = (state === "ACTIVE" || state === "FINISHED") && looked.from < FIRST_RECURRING_ID;
  // The range of the index by jobs has all executions of nodes too.
  const isByExecutions = isByState && !(await hasRuns(session));
  const where = matching({ ...asked, range: looked }, isByExecutions);
  const text = `${isByExecutions ? openOf(where, looked) : ""} SELECT ${SUMMARY} FROM ${TABLES} WHERE ${where.text}
    ORDER BY j.id DESC LIMIT ${asked.page.limit + 1}`;
  return walked(await session.run({ text, values: where.values }), looked, asked.page.limit, SHOWN);
}

/**
 * One-time jobs of a range with a later execution that is not final, by one range of an index instead of one lookup per
 * job. A one-time job has at most one such execution. Without the limit, the planner may expect too many to hash, and
 * compare each job with all of them. First executions are looked up by their ids: a range of ids has any number of
 * executions of recurring jobs too.
 */
function openOf(where: Conditions, { from, until }: IdRange): string {
  const end = until < FIRST_RECURRING_ID ? until : FIRST_RECURRING_ID;
  return `WITH open AS MATERIALIZED (SELECT x.job_id FROM executions x WHERE x.queue <> ${QUEUE_CODES.NONE} AND ${isLater("x")}
    AND (x.job_id, x.scheduled_at) >= (${where.value(from)}::uuid, 0) AND (x.job_id, x.scheduled_at) < (${where.value(end)}::uuid, 0)
    ORDER BY x.job_id, x.scheduled_at LIMIT ${LOOKED_AT})`;
}
const IN_OPEN = `(${IS_FIRST_OPEN} OR j.id IN (SELECT o.job_id FROM open o))`;

/** Jobs with labels. A common label is found among the newest jobs, a rare one by the index. */
async function labelled(session: Session, asked: Asked, labels: readonly string[]): Promise<Listing<JobSummary>> {
  const glance = await walk(session, asked, GLANCE);
  if (glance.items.length === asked.page.limit || glance.next === null) return glance;
  const ids = await byLabels(session, labels);
  if (ids === null) return walk(session, asked);
  return listing((await byIds(session, asked, ids)).map(jobSummary), asked.page.limit, SHOWN.idOf);
}

/**
 * Forces the index of labels, which gives up at once if it finds far too much. The planner would otherwise expect to
 * find a common label soon by a scan.
 */
const BY_LABELS_ALONE = `SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off;
  SET LOCAL enable_bitmapscan = on; SET LOCAL gin_fuzzy_search_limit = ${4 * LED_TO}`;

/**
 * Ids of jobs for all pages. With a bound on the ids, the planner could use the primary key.
 * @returns ids; null: there are too many
 */
async function byLabels(session: Session, labels: readonly string[]): Promise<string[] | null> {
  await session.run({ text: "BEGIN" });
  await session.run({ text: BY_LABELS_ALONE });
  const rows = await session.run({
    text: `SELECT j.id FROM jobs j WHERE j.labels IS NOT NULL AND label_terms(j.labels) @> $1 LIMIT ${LED_TO + 1}`,
    values: [labels],
  });
  await session.run({ text: "COMMIT" });
  return rows.length > LED_TO ? null : rows.map(([id]) => id as string);
}

/** @param isByExecutions whether the statement has a list of the active one-time jobs */
function matching({ tenant, filter, range }: Asked, isByExecutions = false): Conditions {
  const { pool, handler, name, type, state, labels } = filter;
  const where = ofTenant(new Conditions(), "j", tenant);
  where.add("j.id >= ?", range.from).add("j.id < ?", range.until);
  if (pool !== undefined) where.add("j.pool = ?", pool);
  if (handler !== undefined) where.add("j.handler = ?", handler);
  if (name !== undefined) where.add("j.name = ?", name);
  // The range of ids already restricts the list to one-time jobs.
  if (type !== undefined && type !== "ONCE") where.add("recurrence_type(j.recurrence) = ?", type);
  if (state !== undefined) where.fixed(stateCondition(state, isByExecutions ? IN_OPEN : undefined));
  // The index does not contain jobs without labels.
  if (labels !== undefined) where.fixed("j.labels IS NOT NULL").add("label_terms(j.labels) @> ?", labels);
  return where;
}
