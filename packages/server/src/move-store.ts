import { pino } from "pino";
import { hasCluster } from "./adapters/embedded/cluster.ts";
import { startEmbedded } from "./adapters/embedded/embedded-postgres.ts";
import { type CopiedTable, copyStore } from "./adapters/sql/copy-store.ts";
import { stayAwake } from "./adapters/system/stay-awake.ts";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { createLog } from "./ops/logging.ts";
import { StoreUnusable } from "./ports/store.ts";

const STANDARD_ERROR = 2;

export interface MoveOptions {
  /** The data folder of the embedded store; it is left as it is. */
  dataDir: string;
  /** postgres://user:password@host:port/database, of 14 to 18, with no Mainspring in it. */
  to: string;
  /** Told of each table once it is compared. */
  onTable: (table: CopiedTable) => void;
  /** Gives up, with nothing changed; the promise rejects with the signal's reason. */
  signal: AbortSignal;
}

/**
 * Copies everything from the embedded store to a PostgreSQL of one's own, while no server uses either; all or nothing.
 * @throws {StoreUnusable} a server runs on one of them, the target cannot take it, or there is nothing to move
 * @throws {StoreUnavailable} the target does not answer
 */
export async function moveStore({ dataDir, ...options }: MoveOptions): Promise<CopiedTable[]> {
  if (!(await hasCluster(dataDir))) {
    throw new StoreUnusable(
      `The data folder ${dataDir} has no embedded store in it: name it with MAINSPRING_DATA_DIR.`,
    );
  }
  const runtime = systemRuntime();
  const log = createLog("warn", pino.destination({ fd: STANDARD_ERROR, sync: true }));
  const sleep = stayAwake();
  try {
    const source = await startEmbedded({ dataDir, runtime, log });
    try {
      const incarnation = `migrate-${runtime.uuid()}`;
      return await copyStore({ ...options, from: source.connection, incarnation, runtime, log });
    } finally {
      await source.stop();
    }
  } finally {
    sleep();
  }
}
