import type { IdRange as AskedIds, Listing } from "../../../ports/store-queries.ts";
import type { Row, Session } from "../connection/connections.ts";
import { listing } from "../connection/query.ts";

/**
 * Number of rows that one page of a list examines when no index fits. A page that finds too little ends there, and the
 * next page continues, so a page costs the same however many rows there are.
 */
export const LOOKED_AT = 10_000;
/** Number of rows that an index may lead to before a list examines the newest rows instead. */
export const SPARSE = 5_000;

/** Range of ids that a list examines: `id >= from AND id < until`. */
export interface IdRange {
  from: string;
  until: string;
}

export const FIRST_ID = "00000000-0000-0000-0000-000000000000";
/** Smallest id of a recurring job. */
export const FIRST_RECURRING_ID = "80000000-0000-0000-0000-000000000000";
export const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Intersection of a range with the ids of a filter. @param ids range of ids, both ends included; absent: every id */
export function within(range: IdRange, ids: AskedIds | undefined): IdRange {
  if (ids === undefined) return range;
  const end = nextId(ids.last);
  return { from: later(range.from, ids.first), until: range.until < end ? range.until : end };
}

export function later(one: string, other: string): string {
  return one > other ? one : other;
}

function nextId(id: string): string {
  if (id >= LAST_ID) return LAST_ID;
  const digits = (BigInt(`0x${id.replaceAll("-", "")}`) + 1n).toString(16).padStart(32, "0");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Reads the newest rows of a range, at most `most`; `rest`: whether the range has older ones. */
export async function newestOf(
  session: Session,
  table: "jobs" | "executions",
  range: IdRange,
  most = LOOKED_AT,
): Promise<IdRange & { rest: boolean }> {
  const text = `SELECT r.id FROM ${table} r WHERE r.id >= $1 AND r.id < $2
    ORDER BY r.id DESC OFFSET ${most - 1} LIMIT 1`;
  const [row] = await session.run({ text, values: [range.from, range.until] });
  return row === undefined ? { ...range, rest: false } : { from: row[0] as string, until: range.until, rest: true };
}

/** @param rows rows found in `looked`, the newest first, up to one more than the page */
export function walked<T>(
  rows: readonly Row[],
  looked: IdRange & { rest: boolean },
  limit: number,
  { itemOf, idOf }: { itemOf: (row: Row) => T; idOf: (item: T) => string },
): Listing<T> {
  const { items, next } = listing(rows.map(itemOf), limit, idOf);
  return { items, next: next ?? (looked.rest ? looked.from : null) };
}
