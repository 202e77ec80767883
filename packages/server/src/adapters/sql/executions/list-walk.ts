import { DEFAULT_TENANT } from "../../../domain/ids.ts";
import type { IdRange as AskedIds, Listing } from "../../../ports/store-queries.ts";
import type { Row, Session } from "../connection/connections.ts";
import { Conditions, listing } from "../connection/query.ts";

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

/**
 * Condition for the rows of a tenant. The statements of a tenant other than `default` name the condition of the indexes of tenants,
 * so that every plan finds them.
 * @param alias name of the table in the statement
 */
export function ofTenant(where: Conditions, alias: string, tenant: string): Conditions {
  where.add(`${alias}.tenant = ?`, tenant);
  return tenant === DEFAULT_TENANT ? where : where.fixed(`${alias}.tenant <> '${DEFAULT_TENANT}'`);
}

/** Whether the rows of a tenant are found by an index of their own. */
export function hasOwnIndex(tenant: string): boolean {
  return tenant !== DEFAULT_TENANT;
}

/**
 * Reads the newest rows of a range, at most `most`; `rest`: whether the range has older ones. The read counts only
 * the own rows of a tenant other than `default`, so that neither the page nor its cursor depends on the rows of others.
 */
export async function newestOf(
  session: Session,
  table: "jobs" | "executions",
  tenant: string,
  range: IdRange,
  most = LOOKED_AT,
): Promise<IdRange & { rest: boolean }> {
  const where = new Conditions().add("r.id >= ?", range.from).add("r.id < ?", range.until);
  if (hasOwnIndex(tenant)) ofTenant(where, "r", tenant);
  const text = `SELECT r.id FROM ${table} r WHERE ${where.text} ORDER BY r.id DESC OFFSET ${most - 1} LIMIT 1`;
  const [row] = await session.run({ text, values: where.values });
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
