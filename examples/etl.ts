import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Ref, TerminalError, task, workflow } from "@mainspring/sdk";
import pg from "pg";

export interface Settings {
  database: pg.ClientConfig;
  /** Folder that all workers of these tasks share. Files travel here, because a result has at most 1 MiB. */
  folder: string;
}

/** Tables, with the columns that the files have. Orders refer to customers. */
const TABLES = {
  customers: ["id", "name"],
  orders: ["id", "customer_id", "cents"],
} as const;
type Table = keyof typeof TABLES;

export const SCHEMA = `
  CREATE TABLE IF NOT EXISTS customers (id bigint PRIMARY KEY, name text NOT NULL);
  CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customers, cents bigint NOT NULL);`;

const ROWS_IN_BATCH = 1_000;
/** Share of rows that may be wrong. A file with more of them is not what it should be. */
const WRONG_MAX = 0.1;
const RETRY = { maxAttempts: 5, backoff: "EXPONENTIAL", initialDelayMs: 5_000, jitter: false } as const;

/** Fetches a file of a day. A repeat replaces the file, and no reader ever sees a part of it. */
function downloadTask({ folder }: Settings) {
  return task({
    name: "etl-download",
    timeoutSec: 600,
    retry: RETRY,
    run: async ({ base, day, table }: { base: string; day: string; table: Table }, ctx) => {
      const url = `${base}/${day}/${table}.csv`;
      const response = await fetch(url, { signal: ctx.signal });
      if (response.status === 404) throw new TerminalError(`there is no ${url}`);
      if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`);
      return {
        table,
        file: await written(join(folder, day), `${table}.csv`, ctx.attempt, Readable.fromWeb(response.body)),
      };
    },
  });
}

/** Turns lines of a file into JSON, and leaves wrong ones out. */
function transformTask({ folder }: Settings) {
  return task({
    name: "etl-transform",
    timeoutSec: 600,
    retry: RETRY,
    run: async ({ day, table, file }: { day: string; table: Table; file: string }, ctx) => {
      let [rows, wrong] = [0, 0];
      async function* lines() {
        for await (const line of createInterface({ input: createReadStream(file) })) {
          const row = rowOf(table, line);
          if (row === null) wrong++;
          else rows++;
          if (row !== null) yield `${JSON.stringify(row)}\n`;
        }
      }
      const clean = await written(join(folder, day), `${table}.ndjson`, ctx.attempt, lines());
      if (wrong > (rows + wrong) * WRONG_MAX)
        throw new TerminalError(`${wrong} of ${rows + wrong} lines of ${file} are wrong`);
      return { table, file: clean, rows, wrong };
    },
  });
}

/**
 * Writes rows under their keys in one transaction, so that a repeat changes nothing: an attempt whose worker was lost after the
 * commit is followed by one that writes the same rows.
 */
function loadTask({ database }: Settings) {
  return task({
    name: "etl-load",
    timeoutSec: 600,
    retry: RETRY,
    run: async ({ table, file }: { table: Table; file: string }, ctx) => {
      const client = new pg.Client(database);
      await client.connect();
      try {
        await client.query("BEGIN");
        let rows = 0;
        for await (const batch of batchesOf(file)) {
          ctx.signal.throwIfAborted();
          await client.query(upsert(table), [`[${batch.join(",")}]`]);
          rows += batch.length;
        }
        await client.query("COMMIT");
        return { rows };
      } finally {
        await client.end();
      }
    },
  });
}

/** Fetches the files of a day over HTTP, cleans them, and loads them into PostgreSQL. Files are fetched and cleaned side by side. */
export function etl(settings: Settings) {
  const [download, transform, load] = [downloadTask(settings), transformTask(settings), loadTask(settings)];
  return workflow(
    "etl",
    { timeoutSec: 3_600, concurrencyKey: "warehouse" },
    (w, input: Ref<{ base: string; day: string }>) => {
      const { base, day } = input;
      const clean = (table: Table) => {
        const { file } = w.node(`download-${table}`, download, { base, day, table });
        return w.node(`transform-${table}`, transform, { day, table, file });
      };
      const [customers, orders] = [clean("customers"), clean("orders")];
      const customersIn = w.node("load-customers", load, customers);
      const ordersIn = w.node("load-orders", load, orders, { after: [customersIn] });
      const wrong = { customers: customers.wrong, orders: orders.wrong };
      return { loaded: { customers: customersIn.rows, orders: ordersIn.rows }, wrong };
    },
  );
}

/** Writes a file under another name first. @returns its path */
async function written(
  folder: string,
  name: string,
  attempt: number,
  content: AsyncIterable<Uint8Array | string>,
): Promise<string> {
  const file = join(folder, name);
  await mkdir(folder, { recursive: true });
  await pipeline(content, createWriteStream(`${file}.${attempt}`));
  await rename(`${file}.${attempt}`, file);
  return file;
}

/** @returns null: the line is wrong */
function rowOf(table: Table, line: string): Record<string, string> | null {
  const values = line.split(",");
  const columns = TABLES[table];
  const isNumber = (column: string) => column !== "name";
  const isRight = columns.every((column, index) => !isNumber(column) || /^\d{1,15}$/.test(values[index] ?? ""));
  if (values.length !== columns.length || !isRight) return null;
  return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? ""]));
}

async function* batchesOf(file: string): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (batch.push(line) < ROWS_IN_BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** A file that has a key twice means its last line. */
function upsert(table: Table): string {
  const columns = TABLES[table];
  const others = columns.filter((column) => column !== "id").map((column) => `${column} = excluded.${column}`);
  return `
    INSERT INTO ${table} (${columns.join(", ")})
    SELECT DISTINCT ON (row.id) ${columns.map((column) => `row.${column}`).join(", ")}
    FROM json_array_elements($1::json) WITH ORDINALITY AS line (value, number),
      json_populate_record(NULL::${table}, line.value) AS row
    ORDER BY row.id, line.number DESC
    ON CONFLICT (id) DO UPDATE SET ${others.join(", ")}`;
}
