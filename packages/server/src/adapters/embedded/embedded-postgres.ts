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
  /** Folder for everything, created if missing. One server at a time uses it. */
  readonly dataDir: string;
  readonly runtime: Runtime;
  readonly log: Log;
  /** Folder that contains PostgreSQL's `bin`; default: the one that npm installed for this platform. */
  readonly binaries?: string;
}

/** An embedded PostgreSQL, kept running until `stop`. */
export interface EmbeddedPostgres {
  /**
   * Connection for `pg`. It stays the same when PostgreSQL is restarted after a crash. `host` is the folder of its
   * socket.
   */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password?: string;
    readonly database: string;
  };
  /** Id of PostgreSQL's present process, which changes when PostgreSQL is restarted after a crash. */
  readonly pid: number;
  /**
   * Resolves with the reason when PostgreSQL died and cannot be restarted; otherwise stays pending, even after `stop`.
   */
  readonly exited: Promise<Error>;
  /** Stops PostgreSQL in an orderly way and frees the data folder. Repeated calls do nothing. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL that npm installed on a data folder, which the first start creates.
 * @throws {StoreUnusable} the data folder is in use, damaged or of another version, or PostgreSQL does not run here; the
 * message says what to do, and the folder is left as it was
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
  // The files are elsewhere if the data folder has only a link: a copy of this folder would lead to the same files.
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

/** Updates the access rules, and stops PostgreSQL if that fails. */
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

/**
 * Keeps the process alive during a start. The Runtime's timers do not, and during the wait for a leftover process there
 * may be nothing else.
 */
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
