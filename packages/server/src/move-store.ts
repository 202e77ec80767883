import { pino } from "pino";
import { hasCluster } from "./adapters/embedded/cluster.ts";
import { startEmbedded } from "./adapters/embedded/embedded-postgres.ts";
import type { Connection, ConnectionsOptions } from "./adapters/sql/connection/connections.ts";
import { type CopiedTable, copyStore } from "./adapters/sql/schema/copy-store.ts";
import { type MovedSchema, moveSchema } from "./adapters/sql/schema/move-schema.ts";
import { stayAwake } from "./adapters/system/stay-awake.ts";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import type { Config } from "./ops/config.ts";
import { createLog } from "./ops/logging.ts";
import { StoreUnusable } from "./ports/store.ts";

const STANDARD_ERROR = 2;

/** Settings of a server that name its store. */
export type StoreOf = Pick<Config, "store" | "storeSchema" | "dataDir">;

export interface MoveOptions {
  /** Data folder of the embedded store, which stays as it is. */
  dataDir: string;
  /**
   * URL of the target, postgres://user:password@host:port/database: PostgreSQL 14 to 18 that contains no Mainspring
   * store. If the URL names several servers, the copy goes to the primary.
   */
  to: string;
  /** Schema of PostgreSQL for the copy; null: the default schema of new stores. */
  schema: string | null;
  /** Called for each table when its copy has been compared. */
  onTable: (table: CopiedTable) => void;
  /** Aborts the copy with nothing changed. The promise then rejects with the signal's reason. */
  signal: AbortSignal;
}

/**
 * Copies everything from the embedded store to another PostgreSQL, while no server uses either; all or nothing.
 * @throws {StoreUnusable} a server runs on one of the stores, the target cannot take the copy, or there is nothing to
 * move
 * @throws {StoreUnavailable} the target does not answer
 */
export async function moveStore({ dataDir, ...options }: MoveOptions): Promise<CopiedTable[]> {
  return await withTools("migrate", (tools) =>
    withEmbedded(dataDir, tools, (from) => copyStore({ ...options, ...tools, from })),
  );
}

/**
 * Moves a store to another schema of its database, while no server uses it; all or nothing. Safe to repeat.
 * @param from schema that contains the store; null: the schema in which it is found
 * @throws {StoreUnusable} a server runs on the store, there is none, or the schema cannot take it
 * @throws {StoreUnavailable} PostgreSQL does not answer
 */
export async function moveStoreSchema(
  config: StoreOf & Partial<Pick<Config, "redisStore">>,
  from: string | null,
): Promise<MovedSchema> {
  if (config.redisStore != null)
    throw new StoreUnusable(
      "MAINSPRING_STORE leads to a Redis, which has no schemas: ?prefix=NAME keeps clusters apart.",
    );
  return await withTools("move-schema", (tools) => {
    const move = (connection: Connection) => moveSchema({ ...tools, connection, from, schema: config.storeSchema });
    return config.store === "embedded" ? withEmbedded(config.dataDir, tools, move) : move(config.store);
  });
}

export type Tools = Pick<ConnectionsOptions, "incarnation" | "runtime" | "log">;

export async function withTools<T>(name: string, use: (tools: Tools) => Promise<T>): Promise<T> {
  const runtime = systemRuntime();
  const log = createLog("warn", pino.destination({ fd: STANDARD_ERROR, sync: true }));
  const sleep = stayAwake();
  try {
    return await use({ incarnation: `${name}-${runtime.uuid()}`, runtime, log });
  } finally {
    sleep();
  }
}

export async function withEmbedded<T>(dataDir: string, tools: Tools, use: (at: Connection) => Promise<T>): Promise<T> {
  if (!(await hasCluster(dataDir))) {
    throw new StoreUnusable(
      `The data folder ${dataDir} has no embedded store in it: name it with MAINSPRING_DATA_DIR.`,
    );
  }
  const postgres = await startEmbedded({ dataDir, ...tools });
  try {
    return await use(postgres.connection);
  } finally {
    await postgres.stop();
  }
}
