import { mkdir, realpath } from "node:fs/promises";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import type { Runtime } from "../../ports/runtime.ts";
import { StoreUnusable } from "../../ports/store.ts";
import { packagedBinaries } from "./binaries.ts";
import { askForPassword, createCluster, ROLE } from "./create-cluster.ts";
import { type Endpoint, openEndpoint } from "./endpoint.ts";
import { type FolderLock, lockFolder } from "./folder-lock.ts";
import { prepareInstallation } from "./installation.ts";
import type { Log } from "./postmaster.ts";
import { Supervisor } from "./supervisor.ts";

/** Program to start, and its folder. */
export interface EmbeddedOptions {
  /** The folder for everything; made when missing. One server at a time. */
  readonly dataDir: string;
  readonly runtime: Runtime;
  readonly log: Log;
  /** A folder with PostgreSQL's `bin` in it; default: the one that came with npm for this platform. */
  readonly binaries?: string;
}

/** A PostgreSQL of our own, kept running until `stop`. */
export interface EmbeddedPostgres {
  /** For `pg`. Stays the same when PostgreSQL is started again after it died. `host` is the folder of its socket. */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password?: string;
    readonly database: string;
  };
  /** Its process at the moment; another after it died and was started again. */
  readonly pid: number;
  /** Resolves with the reason when it died and cannot be brought back; otherwise stays pending, also after `stop`. */
  readonly exited: Promise<Error>;
  /** Stops it in an orderly way and frees the data folder. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL that comes with npm on a data folder, making it on the first start.
 * @throws {StoreUnusable} the data folder is in use, damaged or of another version, or PostgreSQL does not run here;
 *   the message says what to do, and the folder is left as it was
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const dataDir = await openFolder(options.dataDir);
  const locks = [lockFolder(dataDir)];
  const awake = stayAwake();
  try {
    return await startLocked(options, dataDir, locks);
  } catch (cause) {
    for (const lock of locks) lock.release();
    throw cause;
  } finally {
    awake.close();
  }
}

async function startLocked(options: EmbeddedOptions, dataDir: string, locks: FolderLock[]): Promise<EmbeddedPostgres> {
  const { runtime, log } = options;
  const installation = await prepareInstallation(dataDir, options.binaries ?? packagedBinaries());
  // Elsewhere when only a link is here: a copy of this folder would lead to the same files.
  if (installation.home !== dataDir) locks.push(lockFolder(installation.home));
  const endpoint = await openEndpoint(installation);
  try {
    if (installation.isNew) await createCluster(installation, endpoint);
    const supervisor = await Supervisor.start({ installation, endpoint, runtime, log });
    if (!installation.isNew) await withRules(supervisor, () => askForPassword(installation, endpoint));
    return handle(supervisor, endpoint, locks);
  } catch (cause) {
    await endpoint.close();
    throw cause;
  }
}

/** A PostgreSQL whose rules cannot be brought up to date is not left running. */
async function withRules(supervisor: Supervisor, update: () => Promise<void>): Promise<void> {
  try {
    await update();
  } catch (cause) {
    await supervisor.stop();
    throw cause;
  }
}

function handle(supervisor: Supervisor, endpoint: Endpoint, locks: FolderLock[]): EmbeddedPostgres {
  const { host, port, password } = endpoint;
  const login = password === undefined ? {} : { password };
  return {
    connection: { host, port, user: ROLE, ...login, database: "postgres" },
    get pid() {
      return supervisor.pid;
    },
    exited: supervisor.exited,
    async stop() {
      await supervisor.stop();
      await endpoint.close();
      for (const lock of locks) lock.release();
    },
  };
}

/** The Runtime's timers keep no process alive, and while a leftover is waited for there may be nothing else. */
function stayAwake(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.ref();
  return port1;
}

async function openFolder(dataDir: string): Promise<string> {
  try {
    await mkdir(dataDir, { recursive: true });
    return await realpath(dataDir);
  } catch (cause) {
    throw new StoreUnusable(
      `The data folder ${dataDir} cannot be made or opened (${(cause as Error).message}). Choose another with MAINSPRING_DATA_DIR.`,
      { cause },
    );
  }
}
