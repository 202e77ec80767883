import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { Logger } from "pino";
import type { Runtime } from "../../../ports/runtime.ts";
import { startEmbedded } from "../../embedded/embedded-postgres.ts";
import { systemRuntime, uuidSource } from "../../system/system-runtime.ts";
import { type Connection, Connections } from "../connection/connections.ts";
import { DEFAULT_SCHEMA } from "../schema/home.ts";
import { openSqlStore, type SqlStore } from "../sql-store.ts";

/** A PostgreSQL for one file of tests, with databases of its own for each test. */
export interface TestServer {
  /** An empty database. */
  newDatabase(): Promise<pg.ClientConfig>;
  /**
   * Creates a database with the tables of a store for the current month: a copy, which takes half the time of the
   * migrations.
   */
  newStoreDatabase(): Promise<pg.ClientConfig>;
  stop(): Promise<void>;
}

export const silent = Object.fromEntries(
  ["trace", "debug", "info", "warn", "error", "fatal"].map((level) => [level, () => undefined]),
) as unknown as Logger;

/** Starts the embedded server on a new data folder. */
export async function startTestServer(): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "sql-store-"));
  const embedded = await startEmbedded({ dataDir: join(folder, "data"), runtime: systemRuntime(), log: silent });
  return testServer(embedded.connection, async () => {
    await embedded.stop();
    await rm(folder, { recursive: true, force: true });
  });
}

/** Uses any server on which the tests may create databases. */
export function testServer(connection: pg.ClientConfig, stop: () => Promise<void>): TestServer {
  let count = 0;
  const newDatabase = async (template = "template0") => {
    const database = `test_${process.pid}_${++count}`;
    await asked(connection, `CREATE DATABASE ${database} TEMPLATE ${template} ENCODING 'UTF8'`);
    return { ...connection, database };
  };
  let migrated: Promise<string> | null = null;
  const migrate = async () => {
    const template = await newDatabase();
    await (await openTestStore(template)).close();
    return template.database;
  };
  return {
    newDatabase: () => newDatabase(),
    newStoreDatabase: async () => newDatabase(await (migrated ??= migrate())),
    stop,
  };
}

/** A database as the URL of a store, which the setting `MAINSPRING_STORE` takes. */
export function storeUrl({ host = "", port, user = "", password, database = "" }: pg.ClientConfig): string {
  const query = new URLSearchParams({ host, port: String(port), user, password: String(password ?? "") });
  return `postgres:///${database}?${query}`;
}

/** Connections to the schema of new stores, without a store. */
export function testConnections(
  connection: Connection,
  runtime: Runtime = systemRuntime(),
  incarnation: string = runtime.uuid(),
): Connections {
  return new Connections({ connection, schema: DEFAULT_SCHEMA, incarnation, runtime, log: silent });
}

/** Runs a query over a connection of its own, as another program would. */
export async function asked(connection: pg.ClientConfig, text: string, values: unknown[] = []): Promise<unknown[][]> {
  const client = new pg.Client({ ...connection, application_name: "a test" });
  await client.connect();
  try {
    return (await client.query({ text, values, rowMode: "array" })).rows;
  } finally {
    await client.end();
  }
}

/** Opens a store on a database, by default a new one, for the current month unless the runtime says otherwise. */
export async function openTestStore(
  connection: pg.ClientConfig,
  runtime: Runtime = systemRuntime(),
  incarnation: string = runtime.uuid(),
  { isShared = false, isTelling = false } = {},
): Promise<SqlStore> {
  return await openSqlStore({ connection, incarnation, runtime, log: silent, isShared, events: () => isTelling });
}

/**
 * A runtime whose pauses end at once with a leap of the clock, so that a wait of seconds takes a moment.
 * @param pauseMaxMs longest such pause, in milliseconds; a longer timer is a time limit and takes its time
 */
export function hurriedRuntime(now = systemRuntime().now(), pauseMaxMs = 900): Runtime {
  const runtime = systemRuntime();
  let passedMs = 0;
  return {
    ...runtime,
    now: () => now,
    monotonicMs: () => passedMs,
    setTimer: (delayMs, run) => {
      if (delayMs > pauseMaxMs) return runtime.setTimer(delayMs, run);
      const handle = setImmediate(() => {
        passedMs += delayMs;
        run();
      });
      return { cancel: () => clearImmediate(handle) };
    },
    uuid: uuidSource(() => now),
  };
}
