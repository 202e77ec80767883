import type { Flow } from "../../../domain/flow.ts";
import type { EpochMs } from "../../../domain/ids.ts";
import type { DueCursor, FlowPage } from "../../../ports/store-flows.ts";
import { isComplete } from "../schema/late-indexes.ts";
import { int8s, texts, uuids } from "./arrays.ts";
import type { Connections, Row } from "./connections.ts";

/** Cursor before every row. */
const START: DueCursor = { dueAt: -1, id: "00000000-0000-0000-0000-000000000000" };
/** Time behind every row. */
const END_MS = Number.MAX_SAFE_INTEGER;

interface Table {
  /** Table with the columns `tenant` and `pool`. */
  name: "executions" | "plans";
  /** Column of the time at which a row is due, and of the id. */
  at: string;
  id: string;
  /** SQL condition for the alias `r`: predicate of the partial index by tenant, pool, time and id. */
  isIndexed: string;
}

/**
 * Statement that finds each flow by one index lookup, however many rows a flow has. Parameters: latest time, tenant, pool and time behind
 * which the search begins, number of flows.
 */
export function flowsStatement({ name, at, id, isIndexed }: Table): string {
  const next = (tenant: string, pool: string, after: string) => `
    SELECT r.tenant, r.pool, r.${at} AS at FROM ${name} r
    WHERE ${isIndexed} AND (r.tenant, r.pool, r.${at}) > (${tenant}, ${pool}, ${after})
    ORDER BY r.tenant, r.pool, r.${at}, r.${id} LIMIT 1`;
  return `
  WITH RECURSIVE flows AS (
    (${next("$2::text", "$3::text", "$4::int8")})
    UNION ALL
    SELECT n.* FROM flows f, LATERAL (${next("f.tenant", "f.pool", `${END_MS}::int8`)}) n
  )
  SELECT tenant, pool FROM flows WHERE at <= $1 LIMIT $5`;
}

/**
 * Runs a statement of `flowsStatement`.
 * @param index the statement's index
 * @returns null: the index is not complete yet
 */
export function readFlowNames(
  db: Connections,
  { index, ...statement }: { name: string; text: string; index: string },
  until: EpochMs,
  after: Flow | null,
  limit: number,
): Promise<Flow[] | null> {
  return db.session("read", async (session) => {
    if (!(await isComplete(session, index))) return null;
    const values = [until, after?.tenant ?? "", after?.pool ?? "", after === null ? -1 : END_MS, limit];
    return (await session.run({ ...statement, values })).map(flowFrom);
  });
}

/**
 * SQL source of the rows of pages, as `r`, with the number of their page as `w.n`, from 1. Parameters from $2 on: latest time, tenants,
 * pools, times and ids of cursors, rows of each page. The order contains the flow, although it is the same in a page, because no other
 * index has that order.
 * @param isOwn SQL condition for the alias `r`: the row is of the reader's shards
 */
export function pagesSource({ name, at, id, isIndexed }: Table, isOwn: string): string {
  return `unnest($3::text[], $4::text[], $5::int8[], $6::uuid[]) WITH ORDINALITY AS w (tenant, pool, at, id, n), LATERAL (
    SELECT r.* FROM ${name} r
    WHERE ${isIndexed} AND (r.tenant, r.pool, r.${at}, r.${id}) > (w.tenant, w.pool, w.at, w.id)
      AND (r.tenant, r.pool, r.${at}) <= (w.tenant, w.pool, $2::int8) AND ${isOwn}
    ORDER BY r.tenant, r.pool, r.${at}, r.${id} LIMIT $7
  )`;
}

/** @param mask shards of the reader */
export function pagesValues(mask: unknown, until: number, pages: readonly FlowPage[], limit: number): unknown[] {
  return [
    mask,
    until,
    texts(pages, ({ flow }) => flow.tenant),
    texts(pages, ({ flow }) => flow.pool),
    int8s(pages, ({ after }) => (after ?? START).dueAt),
    uuids(pages, ({ after }) => (after ?? START).id),
    limit,
  ];
}

function flowFrom(row: Row): Flow {
  const [tenant, pool] = row as [string, string];
  return { tenant, pool };
}

/** @param rows rows of all pages; their first value is the number of their page */
export function byPage<T>(rows: readonly Row[], pages: number, from: (row: Row) => T): T[][] {
  const found: T[][] = Array.from({ length: pages }, () => []);
  for (const row of rows) found[(row[0] as number) - 1]?.push(from(row.slice(1)));
  return found;
}
