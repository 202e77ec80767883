import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreUnusable } from "../../ports/store.ts";

/** Exclusive lock of a data folder until `release`. */
export interface FolderLock {
  /** Releases the lock. Repeated calls do nothing. */
  release(): void;
}

/** Longest wait for the lock of a server that was killed just now, in milliseconds. The call blocks meanwhile. */
const PATIENCE_MS = 500;
const SQLITE_BUSY = 5;

/**
 * Takes the lock of a data folder. The kernel holds the lock and drops it with the process, however that dies, so no
 * stale lock has to be judged by a pid, which may have been reused or belong to another container. Node offers no file
 * locks except those of its SQLite, so the lock is an exclusive transaction on an empty database. No other code of this
 * process may open `lock`: closing any descriptor of the file would drop the lock.
 * @throws {StoreUnusable} another server has the lock, or the file cannot be written
 */
export function lockFolder(dataDir: string): FolderLock {
  const holderFile = join(dataDir, "server.pid");
  const database = acquireLock(dataDir, holderFile);
  writeFileSync(holderFile, `${process.pid}\n`);
  return {
    release() {
      if (!database.isOpen) return;
      rmSync(holderFile, { force: true });
      database.close();
    },
  };
}

function acquireLock(dataDir: string, holderFile: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(join(dataDir, "lock"), { timeout: PATIENCE_MS });
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return database;
  } catch (cause) {
    if (database?.isOpen) database.close();
    throw new StoreUnusable(refusal(dataDir, holderFile, cause), { cause });
  }
}

function refusal(dataDir: string, holderFile: string, cause: unknown): string {
  const { errcode, message } = cause as { errcode?: number; message: string };
  if (errcode !== SQLITE_BUSY) {
    return `The lock file ${join(dataDir, "lock")} cannot be used (${message}). Let this user own the data folder, or choose another with MAINSPRING_DATA_DIR.`;
  }
  return `The data folder ${dataDir} is in use by another Mainspring server${holderOf(holderFile)}. Stop that server, or choose another folder with MAINSPRING_DATA_DIR.`;
}

function holderOf(holderFile: string): string {
  try {
    return ` (process ${Number.parseInt(readFileSync(holderFile, "utf8"), 10)})`;
  } catch {
    return "";
  }
}
