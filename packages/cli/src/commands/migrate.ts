import process from "node:process";
import { Command } from "commander";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { shown } from "../secrets.ts";
import { onStopSignal } from "../stop-signals.ts";
import { counted } from "../text/counted.ts";
import { Output, table } from "../text/output.ts";

interface Options {
  to: string;
  json?: boolean;
}

const HOW = `
No server may run on either of them. The database must be one in which Mainspring has never run (CREATE DATABASE …
ENCODING 'UTF8'), of PostgreSQL 14 or newer. The URL may name several servers, host1:5432,host2:5432: the copy
goes to the primary. All of it is copied and compared, or nothing; the embedded store, in
MAINSPRING_DATA_DIR, is left as it is. A password can stand in PGPASSWORD instead of in the URL.`;

export function migrateCommand(): Command {
  return new Command("migrate")
    .description("move everything from the embedded store to a PostgreSQL of your own")
    .requiredOption("--to <url>", "where to: postgres://user:password@host:5432/database")
    .option("--json", "print JSON for programs")
    .addHelpText("after", HOW)
    .action(migrate);
}

async function migrate({ to, json }: Options): Promise<void> {
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
    if (json !== true && process.stderr.isTTY) process.stderr.write(`${copied.name}: ${counted(copied.rows, "row")}\n`);
  };
  const tables = await moveStore({ dataDir, to, schema, onTable, signal: stopping.signal });
  const store = shown("MAINSPRING_STORE", to);
  new Output(json === true).print({ dataDir, store, tables }, () => `${moved(tables)}\n\n${whatNext(dataDir, store)}`);
}

function moved(tables: readonly { name: string; rows: number }[]): string {
  return table(
    ["TABLE", "ROWS"],
    tables.map(({ name, rows }) => [name, String(rows)]),
  );
}

function whatNext(dataDir: string, store: string): string {
  return `Everything was copied, and compared. From now on start servers with

  MAINSPRING_STORE=${store}

Do not start one on ${dataDir} any more: it would run the same jobs again. Remove it when you no longer want it as a backup.`;
}
