import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ClickHouseAddress } from "../../ports/clickhouse-address.ts";
import { SinkRefused } from "../../ports/event-sink.ts";
import { Connection } from "./connection.ts";

/** Folder of the package with the numbered statements. */
const FOLDER = join(import.meta.dirname, "../../../clickhouse");

const HISTORY = `CREATE TABLE IF NOT EXISTS schema_migrations
(
    version UInt32,
    name String,
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree
ORDER BY version`;

/** A numbered file of statements. */
export interface Migration {
  /** From 1, without gaps. */
  version: number;
  /** Name of the file. */
  name: string;
  sql: string;
}

/** All migrations in their order. */
export function migrations(): Migration[] {
  const names = readdirSync(FOLDER).filter((name) => /^\d{4}-[a-z-]+[.]sql$/.test(name));
  return names.sort().map((name) => ({
    version: Number(name.slice(0, 4)),
    name,
    sql: readFileSync(join(FOLDER, name), "utf8"),
  }));
}

/**
 * Creates the database where it does not exist, and brings its tables and views up to date. Every statement can be repeated, so
 * two concurrent runs do no harm, and a run that was interrupted is completed by the next one.
 * @returns names of the files that were applied; empty: all had been
 * @throws {SinkRefused} the server is too old, or lacks a right
 * @throws {SinkUnavailable} it does not answer
 */
export async function migrateClickHouse(address: ClickHouseAddress): Promise<string[]> {
  await createDatabase(address);
  const connection = new Connection(address);
  try {
    await connection.command(HISTORY);
    const applied = await appliedVersion(connection);
    const missing = migrations().filter(({ version }) => version > applied);
    for (const { version, name, sql } of missing) {
      for (const statement of statementsOf(sql)) await connection.command(statement);
      await connection.command(recordOf({ version, name }));
    }
    return missing.map(({ name }) => name);
  } finally {
    await connection.close();
  }
}

/** All statements of `migrateClickHouse` but the creation of the database, for people who apply them by themselves. */
export function clickHouseStatements(): string {
  const files = migrations().map((file) => `-- ${file.name}\n${file.sql.trim()}\n\n${recordOf(file)};\n`);
  return [`${HISTORY};\n`, ...files].join("\n");
}

function recordOf({ version, name }: Omit<Migration, "sql">): string {
  return `INSERT INTO schema_migrations (version, name) VALUES (${version}, '${name}')`;
}

async function createDatabase(address: ClickHouseAddress): Promise<void> {
  const connection = new Connection(address, "system");
  try {
    await connection.requireVersion();
    const { database } = address;
    const found = await connection.rows(`SELECT name FROM system.databases WHERE name = '${database}'`);
    if (found.length === 0) await connection.command(`CREATE DATABASE IF NOT EXISTS ${database}`);
  } finally {
    await connection.close();
  }
}

/** @throws {SinkRefused} the tables are missing or older than this program */
export async function requireTables(connection: Connection): Promise<void> {
  const applied = await appliedVersion(connection);
  const newest = migrations().at(-1)?.version ?? 0;
  if (applied >= newest) return;
  const { url, database } = connection.address;
  throw new SinkRefused(
    `ClickHouse at ${url}: the tables of the database ${database} have the version ${applied}, and this server needs ${newest}; run \`mainspring clickhouse migrate\``,
  );
}

async function appliedVersion(connection: Connection): Promise<number> {
  const [row] = await connection.rows<{ version: number }>("SELECT max(version) AS version FROM schema_migrations");
  return row?.version ?? 0;
}

/** Statements of a file: each ends with a semicolon at the end of a line. */
function statementsOf(sql: string): string[] {
  return sql
    .split(/;\s*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}
