import pg from "pg";
import { StoreUnavailable, StoreUnusable } from "../../../ports/store.ts";
import {
  type Connection,
  Connections,
  type ConnectionsOptions,
  clientConfig,
  type Login,
  primaryAt,
  sessionOf,
} from "../connection/connections.ts";
import { storeError } from "../connection/errors.ts";
import { explained, preflight } from "../connection/preflight.ts";
import { claimHome } from "./claim-home.ts";
import { copyRows, digestOf, type Side, type Table, tablesOf } from "./copy-table.ts";
import { homeAmong, storesIn } from "./home.ts";
import { leaveView } from "./marks.ts";
import { applyMigrations, schemaVersion } from "./migrate.ts";
import { createPartition, monthNamed, PARTITIONED, PARTITIONS } from "./partitions.ts";

export interface CopyOptions extends Omit<ConnectionsOptions, "connection" | "schema"> {
  /** Source store. The caller ensures that no server uses it while the copy runs; the copy writes nothing there. */
  from: Connection;
  to: Connection;
  /** Schema of the copy, as MAINSPRING_STORE_SCHEMA names it; null: not set. */
  schema: string | null;
  /** Called for each table once all its rows are copied. */
  onTable: (table: CopiedTable) => void;
  /** Signal that ends the copy without a trace, until everything has been compared. */
  signal: AbortSignal;
}

export interface CopiedTable {
  name: string;
  rows: number;
}

const BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const BEGIN_WRITING = "BEGIN";

/** Copying large tables takes long, and both servers must print values in the same way for the comparison. */
const SETTINGS = `
  SET LOCAL statement_timeout = 0;
  SET LOCAL idle_in_transaction_session_timeout = 0;
  SET LOCAL bytea_output = 'hex';
  SET LOCAL extra_float_digits = 1;`;

/**
 * Copies a whole store into a database that has none, byte by byte, in one transaction of the target. A copy that ends
 * early, for whatever reason, changes nothing. The schema keeps its version; the server that opens it next upgrades it.
 * @throws {StoreUnusable} the target cannot take the copy (in use, not empty, too old …), or the source has no store
 * @throws {StoreUnavailable} one of the two does not answer; if that happens at the very end, the copy may be complete
 */
export async function copyStore(options: CopyOptions): Promise<CopiedTable[]> {
  const outside = new Connections({ ...options, connection: options.to, schema: null });
  try {
    await preflight(outside, options.log);
    const { home, claim } = await claimHome(outside, { ...options, connection: options.to });
    try {
      if (!home.isNew) throw occupied(home.schema);
      const copied = await explained(() => copyInto(options, home.schema));
      await leaveView(outside, home.schema);
      return copied;
    } finally {
      await claim.release();
    }
  } finally {
    await outside.close();
  }
}

async function copyInto(options: CopyOptions, schema: string): Promise<CopiedTable[]> {
  const { incarnation } = options;
  const source = await sourceOf(options);
  return await begun(options, { connection: options.from, incarnation, schema: source }, BEGIN_READING, (from) =>
    begun(options, { connection: options.to, incarnation, schema }, BEGIN_WRITING, async (to, commit) => {
      const copied = await copyAll(from, to, schema, options);
      await commit();
      return copied;
    }),
  );
}

/** @returns schema of the source store */
async function sourceOf(options: CopyOptions): Promise<string> {
  const outside = new Connections({ ...options, connection: options.from, schema: null });
  try {
    const [first, ...others] = await storesIn(outside);
    if (first === undefined) throw new StoreUnusable("There is nothing to copy: no server has ever used the source.");
    return others.length === 0 ? first.schema : homeAmong([first, ...others], options.schema).schema;
  } finally {
    await outside.close();
  }
}

async function copyAll(from: Side, to: Side, home: string, { onTable }: CopyOptions): Promise<CopiedTable[]> {
  const tables = await makeSchema(from, to, home);
  for (const table of tables) await copyRows(from, to, table);
  const copied: CopiedTable[] = [];
  for (const table of tables) {
    const rows = await compare(from, to, table);
    await to.session.run({ text: `ANALYZE ${pg.escapeIdentifier(table.name)}` });
    onTable({ name: table.name, rows });
    copied.push({ name: table.name, rows });
  }
  return copied;
}

/** @returns tables that were created; they are empty */
async function makeSchema(from: Side, to: Side, home: string): Promise<Table[]> {
  const version = await schemaVersion(from.session);
  const before = new Set((await tablesOf(to)).map(({ name }) => name));
  await applyMigrations(to.session, home, version);
  await copyLevels(from, to);
  await makeMonths(from, to);
  before.add("schema_migrations");
  const made = (await tablesOf(to)).filter(({ name }) => !before.has(name));
  // Rows that migrations write, such as those of the shards, are part of the copy.
  await to.session.run({ text: `TRUNCATE ${made.map(({ name }) => pg.escapeIdentifier(name)).join(", ")}` });
  return made;
}

/**
 * Copies the feature levels that the migrations need: rows in the store can need a higher one than the migration itself (raised-levels.ts).
 * The column comes as JSON, because a store of an old version may lack it.
 */
async function copyLevels(from: Side, to: Side): Promise<void> {
  const text = "SELECT version, (to_jsonb(m) ->> 'needs_level')::int4 FROM schema_migrations m";
  for (const [version, level] of await from.session.run({ text })) {
    if (level === null) continue;
    const raise = "UPDATE schema_migrations SET needs_level = $2 WHERE version = $1 AND needs_level < $2";
    await to.session.run({ text: raise, values: [version, level] });
  }
}

function occupied(schema: string): StoreUnusable {
  return new StoreUnusable(
    `The target already has tables of Mainspring in the schema ${schema}: give an empty database, made with CREATE DATABASE, ` +
      "or name another schema with MAINSPRING_STORE_SCHEMA. Nothing was changed.",
  );
}

async function makeMonths(from: Side, to: Side): Promise<void> {
  for (const table of PARTITIONED) {
    for (const [partition] of await from.session.run({ text: PARTITIONS, values: [table] })) {
      const month = monthNamed(table, partition as string);
      if (month !== null) await to.session.run({ text: createPartition(table, month) });
    }
  }
}

async function compare(from: Side, to: Side, table: Table): Promise<number> {
  const [source, target] = await Promise.all([digestOf(from, table), digestOf(to, table)]);
  if (source.rows === target.rows && source.digest === target.digest) return source.rows;
  throw new StoreUnusable(
    `The copy of ${table.name} differs from its source (${source.rows} rows there, ${target.rows} in the copy). Nothing was changed.`,
  );
}

/** Begins a transaction on a connection of its own, which is limited only by the signal. */
async function begun<T>(
  { signal }: CopyOptions,
  login: Login,
  begin: string,
  use: (side: Side, commit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { Client } = primaryAt(login);
  const client = new Client({ ...clientConfig(login, "maintain"), query_timeout: 0 });
  client.on("error", ignore);
  const giveUp = () => void client.end().catch(ignore);
  signal.addEventListener("abort", giveUp);
  const commit = async () => {
    signal.throwIfAborted();
    // After an interrupted commit, the outcome would be unknown.
    signal.removeEventListener("abort", giveUp);
    await client.query("COMMIT").catch(unknownEnd);
  };
  try {
    await client.connect();
    await client.query(`${begin}; ${SETTINGS}`);
    return await use({ client, session: sessionOf(client) }, commit);
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof StoreUnusable) throw error;
    signal.throwIfAborted();
    throw storeError(error);
  } finally {
    signal.removeEventListener("abort", giveUp);
    await client.end().catch(ignore);
  }
}

function unknownEnd(cause: Error): never {
  throw new StoreUnavailable(
    `PostgreSQL did not say whether it kept the copy (${cause.message}): all of it is there, or nothing. Run it again: it refuses a target that has it.`,
    { cause },
  );
}

function ignore(): void {}
