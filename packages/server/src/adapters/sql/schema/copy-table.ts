import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import type { Session } from "../connection/connections.ts";

/** A client in a transaction: `session` for statements, `client` for streams. */
export interface Side {
  client: pg.Client;
  session: Session;
}

export interface Table {
  name: string;
  columns: readonly string[];
}

/**
 * Tables to copy. Partitions are copied as part of their table. Migrations themselves write the history of the schema.
 * Unlogged tables list the nodes that live at the moment and are of no use elsewhere.
 */
const TABLES = `
  SELECT c.relname::text, json_agg(a.attname ORDER BY a.attnum)::text
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relnamespace = current_schema()::text::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relpersistence = 'p'
  GROUP BY 1 ORDER BY 1`;

/** All tables of the search path's first schema, of any program. */
export async function tablesOf({ session }: Pick<Side, "session">): Promise<Table[]> {
  const rows = await session.run({ text: TABLES });
  return rows.map(([name, columns]) => ({ name: name as string, columns: JSON.parse(columns as string) }));
}

/** Streams all rows, so that memory holds only a few at a time. */
export async function copyRows(from: Side, to: Side, { name, columns }: Table): Promise<void> {
  const [table, list] = [pg.escapeIdentifier(name), listOf(columns)];
  // COPY can write into a partitioned table, but reads only from a query on it.
  const source = from.client.query(copyTo(`COPY (SELECT ${list} FROM ${table}) TO STDOUT`));
  await pipeline(source, to.client.query(copyFrom(`COPY ${table} (${list}) FROM STDIN`)));
}

/**
 * Digest that shows whether two tables hold the same rows: their number, and the sum of a digest of each row,
 * independent of order.
 */
export async function digestOf({ session }: Side, { name, columns }: Table): Promise<{ rows: number; digest: string }> {
  const row = `sha256(convert_to(ROW(${listOf(columns)})::text, 'UTF8'))`;
  const text = `
    SELECT count(*), coalesce(sum(('x' || encode(substr(${row}, 1, 8), 'hex'))::bit(64)::bigint), 0)::text
    FROM ${pg.escapeIdentifier(name)}`;
  const [found] = await session.run({ text });
  const [rows, digest] = found as [number, string];
  return { rows, digest };
}

function listOf(columns: readonly string[]): string {
  return columns.map((column) => pg.escapeIdentifier(column)).join(", ");
}
