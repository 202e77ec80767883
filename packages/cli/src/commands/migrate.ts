import process from "node:process";
import { Command } from "commander";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { shown } from "../secrets.ts";
import { onStopSignal } from "../stop-signals.ts";
import { counted } from "../text/counted.ts";
import { Output, table } from "../text/output.ts";

interface Options {
  from?: string;
  to?: string;
  without?: string[];
  undo?: boolean;
  json?: boolean;
}

const HOW = `
No server may run on either store. The target must be one in which Mainspring has never run: a database of PostgreSQL 14 or
newer (CREATE DATABASE … ENCODING 'UTF8'), or a Redis as \`docs/guides/redis-as-truth.md\` sets it up. A URL of PostgreSQL may name
several servers, host1:5432,host2:5432: the copy goes to the primary. All of it is copied and compared.

Without --from, the source of a copy to Redis is the store that the settings name (MAINSPRING_STORE, MAINSPRING_STORE_FILE,
MAINSPRING_DATA_DIR), and that of a copy to PostgreSQL is the embedded store, or the Redis that MAINSPRING_STORE names. A password of
PostgreSQL can stand in PGPASSWORD instead of in the URL.

Between PostgreSQL and Redis, the target has a mark while it is filled, so that no server opens it. A command that ended early can be
repeated: it begins again. At the end, the source has a mark, too, and --undo with --from removes that. Lifecycle events stay
behind.`;

export function migrateCommand(): Command {
  return new Command("migrate")
    .description(
      "move everything to another store: from the embedded one to a PostgreSQL, or between PostgreSQL and Redis",
    )
    .option("--from <url>", "where from: postgres://…, redis://…, or embedded (default: see below)")
    .option("--to <url>", "where to: postgres://user:password@host:5432/database, or redis://host:6379")
    .option("--without <kinds...>", "kinds of rows that stay behind, such as idempotencyKeys")
    .option("--undo", "open the store of --from again for servers, which was moved to another one")
    .option("--json", "print JSON for programs")
    .addHelpText("after", HOW)
    .action(migrate);
}

async function migrate(options: Options): Promise<void> {
  const { to } = options;
  if (options.undo === true) return await undo(options);
  if (to === undefined)
    throw new Failure("--to must name the store to move to: postgres://… or redis://….", EXIT.usage);
  const { from, without = [] } = options;
  const { loadConfig } = await import("@mainspring/server");
  const isFromRedis = from === undefined ? loadConfig(process.env).redisStore !== null : isRedis(from);
  if (isRedis(to) || isFromRedis || (from !== undefined && from !== "embedded"))
    return await between({ ...options, to, without });
  await moveEmbedded(to, options.json === true);
}

function isRedis(url: string): boolean {
  return /^rediss?:/.test(url);
}

async function undo({ from, to, json }: Options): Promise<void> {
  if (to !== undefined) throw new Failure("--undo opens the store of --from, and takes no --to.", EXIT.usage);
  const { undoMigration } = await import("@mainspring/server");
  const other = await undoMigration(process.env, from ?? null);
  new Output(json === true).print(
    { other },
    () => `Servers can open the store again. Start none on ${other} any more: it would run the same jobs again.`,
  );
}

async function between(options: Options & { to: string; without: string[] }): Promise<void> {
  const { migrateStore, systemRuntime } = await import("@mainspring/server");
  const { from = null, to, without, json = false } = options;
  const onRows = (kind: string, rows: number) => {
    if (!json && process.stderr.isTTY) process.stderr.write(`\r${kind}: ${counted(rows, "row")}\u001b[K`);
  };
  const signal = stopping(systemRuntime().monotonicMs);
  const { moved, leftBehind } = await migrateStore({ env: process.env, from, to, without, onRows, signal });
  const store = shown("MAINSPRING_STORE", to);
  const tables = Object.entries(moved).map(([name, rows]) => ({ name, rows }));
  const left = Object.entries(leftBehind).filter(([, rows]) => rows > 0);
  const leftText = left.map(([what, rows]) => `\nLeft behind: ${rows} ${what}.`).join("");
  new Output(json).print(
    { store, tables, leftBehind },
    () => `${rowsOf("ROWS OF", tables)}\n${leftText}\n${startOn(store)}`,
  );
}

/** Signal that aborts with the first stop signal. */
function stopping(monotonicMs: () => number): AbortSignal {
  const controller = new AbortController();
  onStopSignal(monotonicMs, (signal) => {
    controller.abort(new Failure(`${signal}: given up. The source is unchanged; a repeat of the command begins again`));
  });
  return controller.signal;
}

async function moveEmbedded(to: string, json: boolean): Promise<void> {
  const { loadConfig, moveStore, postgresUrlFault, systemRuntime } = await import("@mainspring/server");
  const fault = postgresUrlFault(to);
  if (fault !== null) throw new Failure(`--to ${fault}.`, EXIT.usage);
  const { dataDir, storeSchema: schema } = loadConfig(process.env);
  const stopping = new AbortController();
  onStopSignal(systemRuntime().monotonicMs, (signal) => {
    stopping.abort(new Failure(`${signal}: given up; nothing was changed`));
  });
  // Copying a large store takes a while: people see the finished tables, and programs get only the result.
  const onTable = (copied: { name: string; rows: number }) => {
    if (!json && process.stderr.isTTY) process.stderr.write(`${copied.name}: ${counted(copied.rows, "row")}\n`);
  };
  const tables = await moveStore({ dataDir, to, schema, onTable, signal: stopping.signal });
  const store = shown("MAINSPRING_STORE", to);
  new Output(json).print({ dataDir, store, tables }, () => `${rowsOf("TABLE", tables)}\n\n${whatNext(dataDir, store)}`);
}

function rowsOf(title: string, tables: readonly { name: string; rows: number }[]): string {
  return table(
    [title, title === "TABLE" ? "ROWS" : "NUMBER"],
    tables.map(({ name, rows }) => [name, String(rows)]),
  );
}

function startOn(store: string): string {
  return `
Everything else was copied, and compared. From now on start servers with

  MAINSPRING_STORE=${store}

No server opens the former store any more.`;
}

function whatNext(dataDir: string, store: string): string {
  return `Everything was copied, and compared. From now on start servers with

  MAINSPRING_STORE=${store}

Do not start one on ${dataDir} any more: it would run the same jobs again. Remove it when you no longer want it as a backup.`;
}
