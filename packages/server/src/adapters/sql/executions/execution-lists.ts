import type { ExecutionState } from "../../../domain/execution.ts";
import type { BoundedCount, ExecutionFilter, ExecutionSummary, Listing, Page } from "../../../ports/store-queries.ts";
import { QUEUE_CODES, STATE_CODES } from "../connection/codes.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";
import { Conditions, listing } from "../connection/query.ts";
import { isComplete } from "../schema/late-indexes.ts";
import { uuidFloor } from "../schema/partitions.ts";
import { hidesPage, visible } from "../workflows/hidden-nodes.ts";
import { SUMMARY_COLUMNS, summaryFrom } from "./execution-rows.ts";
import {
  within as cut,
  FIRST_ID,
  hasOwnIndex,
  type IdRange,
  LAST_ID,
  LOOKED_AT,
  newestOf,
  ofTenant,
  SPARSE,
  walked,
} from "./list-walk.ts";
import { executionsOf, isLater } from "./of-job.ts";

/** The id of an execution and its creation time denote the same moment, but by different clocks. */
const ID_SLACK_MS = 3_600_000;
/** Largest number of rows to read by handler, pool and state, over all combinations that the filter allows. */
const READ_BY_KIND = 10_000;
const KINDS_MAX = 200;

interface Asked {
  tenant: string;
  filter: ExecutionFilter;
  page: Page;
  range: IdRange;
  /** Whether the query counts: it reads ids alone. */
  counts: boolean;
}

/** Conversion of a row to an item of the list, and the id with which the list continues. */
const SHOWN = { itemOf: summaryFrom, idOf: (item: ExecutionSummary) => item.executionId };
const UNSUCCESSFUL: readonly (ExecutionState | undefined)[] = ["CANCELLED", "SKIPPED", "DEAD"];

/**
 * See StoreQueries.listExecutions. A filter for which there is an index is answered from it. Otherwise, or if the index
 * leads to too many rows, the query looks at the newest rows. Each statement orders its rows as its index does, so that
 * statistics cannot make the planner choose another index.
 */
export function listExecutions(
  db: Connections,
  tenant: string,
  filter: ExecutionFilter,
  page: Page,
): Promise<Listing<ExecutionSummary>> {
  const asked = { tenant, filter, page, range: rangeOf(filter, page), counts: false };
  return db.session("list", async (session) => {
    const rows = (await indexed(session, asked)) ?? (await newest(session, asked));
    if (rows !== null) return listing(rows.map(summaryFrom), page.limit, SHOWN.idOf);
    const { statement, looked } = await walk(session, asked);
    return walked(await session.run(statement), looked, page.limit, SHOWN);
  });
}

/** See StoreQueries.countListed. */
export function countListed(db: Connections, tenant: string, filter: ExecutionFilter): Promise<BoundedCount> {
  const page = { after: null, limit: LOOKED_AT };
  const asked = { tenant, filter, page, range: rangeOf(filter, page), counts: true };
  return db.session("list", async (session) => {
    const rows = await indexed(session, asked);
    if (rows !== null) return bounded(rows.length, false);
    const { statement, looked } = await walk(session, asked);
    // The database counts: thousands of ids would cost the process more than the page that the count stands above.
    const [counted] = await session.run({ ...statement, text: `SELECT count(*) FROM (${statement.text}) c` });
    return bounded(Number(counted?.[0]), looked.rest);
  });
}

function bounded(count: number, hasMore: boolean): BoundedCount {
  return { matching: Math.min(count, LOOKED_AT), hasMore: count > LOOKED_AT || hasMore };
}

/** Whether a filter has conditions that no index answers, so that a page examines a bounded number of rows. */
function isNarrow({ filter: { labels, error }, counts }: Asked): boolean {
  return labels !== undefined || error !== undefined || counts;
}

function columnsOf({ counts }: Asked): string {
  return counts ? "e.id" : SUMMARY_COLUMNS;
}

function rangeOf({ since, until, ids }: ExecutionFilter, { after }: Page): IdRange {
  const end = until === undefined ? LAST_ID : uuidFloor(until + ID_SLACK_MS);
  const from = since === undefined ? FIRST_ID : uuidFloor(since - ID_SLACK_MS);
  return cut({ from, until: after !== null && after < end ? after : end }, ids);
}

/** @returns rows; null: no index fits, or it leads to too many rows */
async function indexed(session: Session, asked: Asked): Promise<Row[] | null> {
  const { state, jobId, pool, handler, isOpen, labels, error } = asked.filter;
  if (state === "SCHEDULED") return [];
  if (jobId !== undefined) return ofJob(session, asked, jobId);
  // The rows of other tenants say nothing about how many rows of this one there are.
  if (hasOwnIndex(asked.tenant)) return null;
  if (isOpen || state === "PENDING" || state === "RUNNING") return open(session, asked);
  if (labels !== undefined || error !== undefined) return null;
  const isOfKind = pool !== undefined || handler !== undefined;
  if (!isOfKind && UNSUCCESSFUL.includes(state)) return asked.counts ? null : unsuccessful(session, asked);
  if (!isOfKind && state === undefined) return null;
  if (!(await isComplete(session, "executions_over"))) return null;
  // The queries run in this order, so that an execution that ends in between is found twice rather than not at all.
  const waiting = state === undefined ? await open(session, asked) : [];
  const over = waiting === null ? null : await ended(session, asked);
  return waiting === null || over === null ? null : newestFirst([...waiting, ...over]);
}

/** Sorts rows, the newest first. The list shows at most the page and one more. */
function newestFirst(rows: readonly Row[]): Row[] {
  const byId = new Map(rows.map((row) => [row[0] as string, row]));
  return [...byId.values()].sort(([a], [b]) => ((a as string) < (b as string) ? 1 : -1));
}

/** Number of rows that the first look of a page examines, for each row of the page. */
const FIRST_LOOK = 4;

/**
 * A page out of the newest few rows, which most lists without an index have. One statement reads it, and no other finds where a longer
 * look ends. @returns null: a longer look is needed
 */
async function newest(session: Session, asked: Asked): Promise<Row[] | null> {
  const { tenant, page, range } = asked;
  if (isNarrow(asked)) return null;
  const where = matching(asked);
  const first = new Conditions(where.values).add("e.id >= ?", range.from).add("e.id < ?", range.until);
  if (hasOwnIndex(tenant)) ofTenant(first, "e", tenant);
  const newestFew = `SELECT e.* FROM executions e WHERE ${first.text} ORDER BY e.id DESC LIMIT ${FIRST_LOOK * page.limit}`;
  const text = `SELECT ${SUMMARY_COLUMNS} FROM (${newestFew}) e WHERE ${where.text} ORDER BY e.id DESC LIMIT ${page.limit + 1}`;
  const rows = await session.run({ text, values: where.values });
  return rows.length > page.limit ? rows : null;
}

interface Walk {
  /** Reads the rows that match, the newest first, up to one more than the page. */
  statement: { text: string; values: unknown[] };
  looked: IdRange & { rest: boolean };
}

/** The newest rows, or the newest ones of an unsuccessful state where the filter is narrow: an index leads to these. */
async function walk(session: Session, asked: Asked): Promise<Walk> {
  const { state } = asked.filter;
  if (isNarrow(asked) && !hasOwnIndex(asked.tenant) && UNSUCCESSFUL.includes(state)) return walkState(session, asked);
  const looked = await newestOf(session, "executions", asked.tenant, asked.range);
  const where = matching(asked, looked);
  const text = `SELECT ${columnsOf(asked)} FROM executions e WHERE ${where.text} ORDER BY e.id DESC LIMIT ${asked.page.limit + 1}`;
  return { statement: { text, values: where.values }, looked };
}

/** Examines the newest rows of an unsuccessful state. */
async function walkState(session: Session, asked: Asked): Promise<Walk> {
  const { filter, range, page } = asked;
  const bounds = new Conditions();
  const of = (values: Conditions, within: IdRange) => unsuccessfulIn(values, filter, within);
  const read = `SELECT e.id FROM executions e WHERE ${of(bounds, range)} ${NEWEST_OF_STATE} OFFSET ${LOOKED_AT - 1} LIMIT 1`;
  const [last] = await session.run({ text: read, values: bounds.values });
  const looked = { from: last === undefined ? range.from : (last[0] as string), until: range.until };
  const where = matching(asked, looked);
  const text = `SELECT ${columnsOf(asked)} FROM executions e WHERE ${of(where, looked)} AND ${where.text} ${NEWEST_OF_STATE} LIMIT ${page.limit + 1}`;
  return { statement: { text, values: where.values }, looked: { ...looked, rest: last !== undefined } };
}

async function ofJob(session: Session, asked: Asked, jobId: string): Promise<Row[] | null> {
  const later = `SELECT FROM executions e WHERE e.job_id = $1 AND ${isLater("e")} ORDER BY e.job_id, e.scheduled_at`;
  const [count] = await session.run({ text: `SELECT count(*) FROM (${later} LIMIT ${SPARSE}) s`, values: [jobId] });
  if (count?.[0] === SPARSE) return null;
  const where = matching(asked);
  const ofThisJob = executionsOf(`${where.value(jobId)}::uuid`, "e.*");
  const text = `SELECT ${columnsOf(asked)} FROM (SELECT * FROM (${ofThisJob}) e OFFSET 0) e
    WHERE ${where.text} ORDER BY e.id DESC LIMIT ${asked.page.limit + 1}`;
  return session.run({ text, values: where.values });
}

/** Queries over the indexes by which owners read, each in the order of its index. */
const WAITING = `SELECT e.* FROM executions e WHERE e.queue = ${QUEUE_CODES.WAITING} ORDER BY e.due_at, e.id LIMIT ${SPARSE}`;
const HELD = `SELECT e.* FROM executions e WHERE e.queue = ${QUEUE_CODES.HELD} ORDER BY e.shard LIMIT ${SPARSE}`;
const READY = `SELECT e.* FROM executions e WHERE e.queue = ${QUEUE_CODES.READY} ORDER BY e.lane, e.rank, e.id LIMIT ${SPARSE}`;
const OPEN = `SELECT e.* FROM executions e WHERE e.queue = ${QUEUE_CODES.OPEN} ORDER BY e.due_at, e.id LIMIT ${SPARSE}`;
/** @param lanes parameter with the numbers of the lanes */
const readyOf = (lanes: string) => `SELECT r.* FROM unnest(${lanes}::bigint[]) l (lane), LATERAL (
  SELECT e.* FROM executions e WHERE e.queue = ${QUEUE_CODES.READY} AND e.lane = l.lane ORDER BY e.rank, e.id LIMIT ${SPARSE}
) r LIMIT ${SPARSE}`;

/** Executions that are not final; null: there are too many. */
async function open(session: Session, asked: Asked): Promise<Row[] | null> {
  const { state, handler, pool } = asked.filter;
  if (state !== "PENDING" && !(await isComplete(session, "executions_open_runs"))) return null;
  const isOfKind = handler !== undefined || pool !== undefined;
  const lanes = isOfKind && state !== "RUNNING" ? await lanesOf(session, asked.filter) : null;
  const partsWith = (lanesParameter: string) => [
    ...(state === "RUNNING" ? [] : [WAITING, lanes === null ? READY : readyOf(lanesParameter)]),
    ...(state === "PENDING" ? [] : [HELD, OPEN]),
  ];
  const counted = partsWith("$1").map((part) => `(SELECT count(*) FROM (${part}) s)`);
  const values = lanes === null ? [] : [lanes];
  const [counts] = await session.run({ text: `SELECT ${counted.join(", ")}`, values });
  if (counts?.includes(SPARSE)) return null;
  const where = matching(asked);
  const parts = partsWith(lanes === null ? "" : where.value(lanes)).map((part) => `(${part})`);
  const text = `SELECT ${columnsOf(asked)} FROM (${parts.join(" UNION ALL ")}) e WHERE ${where.text}
    ORDER BY e.id DESC LIMIT ${asked.page.limit + 1}`;
  return session.run({ text, values: where.values });
}

/** Largest number of lanes to read. A lane belongs to one handler and one pool. */
const LANES_MAX = 300;
const nextLane = (after: string) => `SELECT e.lane, e.handler, e.pool FROM executions e
  WHERE e.queue = ${QUEUE_CODES.READY} AND ${after} ORDER BY e.lane, e.rank, e.id LIMIT 1`;
const LANES = `WITH RECURSIVE lanes AS (
    (${nextLane("true")}) UNION ALL SELECT n.* FROM lanes l, LATERAL (${nextLane("e.lane > l.lane")}) n
  ) SELECT lane, handler, pool FROM lanes LIMIT ${LANES_MAX + 1}`;

/** Lanes of ready executions that a filter allows; null: there are too many lanes. */
async function lanesOf(session: Session, { handler, pool }: ExecutionFilter): Promise<number[] | null> {
  const rows = (await session.run({ text: LANES })) as [lane: number, handler: string, pool: string][];
  if (rows.length > LANES_MAX) return null;
  return rows
    .filter((lane) => (handler === undefined || lane[1] === handler) && (pool === undefined || lane[2] === pool))
    .map(([lane]) => lane);
}

const NEWEST_OF_STATE = "ORDER BY e.state DESC, e.id DESC";

/**
 * Condition for the executions of an unsuccessful state. The bounds are row comparisons, because equations would let the
 * planner use the primary key's order instead of the index's.
 */
function unsuccessfulIn(values: Conditions, { state }: ExecutionFilter, { from, until }: IdRange): string {
  const code = STATE_CODES[state as ExecutionState];
  return `e.state IN (5, 6, 7) AND (e.state, e.id) >= (${code}, ${values.value(from)}::uuid)
    AND (e.state, e.id) < (${code}, ${values.value(until)}::uuid)`;
}

/** Executions in unsuccessful states. */
async function unsuccessful(session: Session, { tenant, filter, page, range }: Asked): Promise<Row[] | null> {
  const within = (values: Conditions) => unsuccessfulIn(values, filter, range);
  const probe = new Conditions();
  const read = `SELECT e.node FROM executions e WHERE ${within(probe)} ${NEWEST_OF_STATE} LIMIT ${LOOKED_AT}`;
  if (await hidesPage(session, `(${visible(read)}) c`, probe.values, LOOKED_AT, page.limit)) return null;
  const where = created(new Conditions().add("e.tenant = ?", tenant), filter);
  const text = `SELECT ${SUMMARY_COLUMNS} FROM executions e WHERE ${within(where)}
    AND ${where.text} ${NEWEST_OF_STATE} LIMIT ${page.limit + 1}`;
  return session.run({ text, values: where.values });
}

interface Kind {
  handler: string;
  pool: string;
  state: number;
}

/** Final executions, by each combination of handler, pool and state; null: there are too many combinations. */
async function ended(session: Session, asked: Asked): Promise<Row[] | null> {
  const max = Math.max(4, Math.min(KINDS_MAX, Math.floor(READ_BY_KIND / asked.page.limit)));
  const kinds = await kindsOf(session, asked.filter.handler, max);
  if (kinds === null) return null;
  const { pool, state, handler } = asked.filter;
  const wanted = kinds.filter(
    (kind) =>
      (pool === undefined || kind.pool === pool) &&
      (handler === undefined || kind.handler === handler) &&
      (state === undefined || kind.state === STATE_CODES[state]),
  );
  return wanted.length === 0 ? [] : ofKinds(session, asked, wanted);
}

async function ofKinds(session: Session, wanted: Asked, kinds: readonly Kind[]): Promise<Row[] | null> {
  const { tenant, filter, page, range } = wanted;
  const lists = [kinds.map((kind) => kind.handler), kinds.map((kind) => kind.pool), kinds.map((kind) => kind.state)];
  /** Source of the kinds `k`, and condition for their executions `e`. */
  const partsFor = (values: Conditions) => {
    const [from, until] = [`${values.value(range.from)}::uuid`, `${values.value(range.until)}::uuid`];
    const [handlers, pools, states] = lists.map((list) => values.value(list));
    const source = `unnest(${handlers}::text[], ${pools}::text[], ${states}::smallint[]) k (handler, pool, state)`;
    const within = `e.queue = 0 AND (e.handler, e.pool, e.state, e.id) >= (k.handler, k.pool, k.state, ${from})
      AND (e.handler, e.pool, e.state, e.id) < (k.handler, k.pool, k.state, ${until})`;
    return { source, within };
  };
  const order = "ORDER BY e.handler DESC, e.pool DESC, e.state DESC, e.id DESC";
  const probe = new Conditions();
  const asked = partsFor(probe);
  const each = Math.max(page.limit + 1, Math.floor(LOOKED_AT / kinds.length));
  const read = `SELECT e.node FROM executions e WHERE ${asked.within} ${order} LIMIT ${each}`;
  const examined = `${asked.source}, LATERAL (${visible(read)}) c`;
  if (await hidesPage(session, examined, probe.values, each, page.limit)) return null;
  const where = created(new Conditions().add("e.tenant = ?", tenant), filter);
  const { source, within } = partsFor(where);
  const most = wanted.counts ? `LIMIT ${page.limit + 1}` : "";
  const text = `SELECT e.* FROM ${source}, LATERAL (SELECT ${columnsOf(wanted)} FROM executions e WHERE ${within}
    AND ${where.text} ${order} LIMIT ${page.limit + 1}) e ${most}`;
  return session.run({ text, values: where.values });
}

/** The next combination after another, by one index lookup. */
const nextKind = (after: string) => `SELECT e.handler, e.pool, e.state FROM executions e
  WHERE e.queue = 0 AND ${after} ORDER BY e.handler, e.pool, e.state LIMIT 1`;

/** @returns combinations; null: there are more than `max` */
async function kindsOf(session: Session, handler: string | undefined, max: number): Promise<Kind[] | null> {
  const isLast = handler === undefined ? "" : "WHERE k.handler <= $1";
  const text = `WITH RECURSIVE kinds AS (
      (${nextKind(handler === undefined ? "true" : "e.handler >= $1")})
      UNION ALL SELECT n.* FROM kinds k, LATERAL (
        ${nextKind("(e.handler, e.pool, e.state) > (k.handler, k.pool, k.state)")}) n ${isLast}
    ) SELECT handler, pool, state FROM kinds LIMIT ${max + 1}`;
  const rows = await session.run({ text, values: handler === undefined ? [] : [handler] });
  if (rows.length > max) return null;
  return rows.map(([name, pool, state]) => ({ handler: name, pool, state }) as Kind);
}

/** @param range range of ids to look at; default: the whole requested range */
function matching({ tenant, filter, range: all }: Asked, range: IdRange = all): Conditions {
  const where = ofTenant(new Conditions(), "e", tenant);
  where.add("e.id >= ?", range.from).add("e.id < ?", range.until);
  if (filter.pool !== undefined) where.add("e.pool = ?", filter.pool);
  if (filter.handler !== undefined) where.add("e.handler = ?", filter.handler);
  if (filter.jobId !== undefined) where.add("e.job_id = ?", filter.jobId);
  if (filter.state !== undefined) where.fixed(`e.state = ${STATE_CODES[filter.state]}`);
  if (filter.isOpen) where.fixed(`e.queue <> ${QUEUE_CODES.NONE}`);
  return searched(created(where, filter), filter);
}

/** The job's row is looked up for each execution: a join could read every job that has the labels. */
const HAS_LABELS = `(SELECT label_terms(j.labels) @> ? FROM jobs j WHERE j.id = e.job_id AND j.labels IS NOT NULL)`;
const HAS_ERROR = `(e.error IS NOT NULL
  AND strpos(lower((e.error::json->>'name') || ': ' || (e.error::json->>'message')), lower(?)) > 0)`;

/** Adds the conditions that no index of executions answers. */
function searched(where: Conditions, { labels, error }: ExecutionFilter): Conditions {
  if (labels !== undefined) where.add(HAS_LABELS, labels);
  if (error !== undefined) where.add(HAS_ERROR, error);
  return where;
}

/** Adds the conditions that every list has: the time of creation, and that nodes of workflows are not shown. */
function created(where: Conditions, { since, until }: ExecutionFilter): Conditions {
  where.fixed("(e.node >= 0) IS NOT TRUE");
  if (since !== undefined) where.add("e.created_at >= ?", since);
  if (until !== undefined) where.add("e.created_at < ?", until);
  return where;
}
