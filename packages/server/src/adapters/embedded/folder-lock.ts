import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreUnusable } from "../../ports/store.ts";

/** A data folder that is ours alone until `release`. */
export interface FolderLock {
  /** Idempotent. */
  release(): void;
}

/** A server that was killed just now may still be about to die; this call blocks for so long at most. */
const PATIENCE_MS = 500;
const SQLITE_BUSY = 5;

/**
 * Takes the lock of a data folder. The kernel holds it: it is gone with the process that took it, however that died,
 * and there is no stale lock to judge by a pid that may have been given out again, or be of another container.
 * Node offers no file locks but those of its SQLite, so the lock is an exclusive transaction on an empty database.
 * Nobody may open `lock` otherwise within this process: closing any descriptor of the file would drop the lock.
 * @throws {StoreUnusable} another server has it, or the file cannot be written
 */
export function lockFolder(dataDir: string): FolderLock {
  const holderFile = join(dataDir, "server.pid");
  const database = takeLock(dataDir, holderFile);
  writeFileSync(holderFile, `${process.pid}\n`);
  return {
    release() {
      if (!database.isOpen) return;
      rmSync(holderFile, { force: true });
      database.close();
    },
  };
}

function takeLock(dataDir: string, holderFile: string): DatabaseSync {
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
