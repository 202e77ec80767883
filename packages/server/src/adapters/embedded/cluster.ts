import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { StoreUnusable } from "../../ports/store.ts";

/** File that marks a folder of PostgreSQL's files as Mainspring's. It is written before the folder gets its name. */
export const MARKER = "MAINSPRING";

/** Owner of a folder's files, as the platform's ids (0 and 0 on Windows). */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Whether a data folder has (or leads to) a cluster. The function changes nothing. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  return (await filesIn(join(dataDir, "postgres"))).includes(MARKER);
}

const ELSEWHERE = "choose another folder with MAINSPRING_DATA_DIR";

/**
 * Examines the folder that has, or will have, PostgreSQL's files, and changes nothing.
 * @param major major version of our binaries
 * @returns owner of the files; null: there are none yet
 * @throws {StoreUnusable} the folder is not Mainspring's, of another version, damaged, or another user's
 */
export async function inspectCluster(pgdata: string, major: number): Promise<Owner | null> {
  const names = await filesIn(pgdata);
  if (names.length === 0) return null;
  const owner = await stat(pgdata);
  refuseForeign(pgdata, names);
  await refuseOtherVersion(pgdata, major);
  refuseDamaged(pgdata, names, await filesIn(join(pgdata, "global")));
  return { uid: owner.uid, gid: owner.gid };
}

async function filesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    throw new StoreUnusable(
      `The data folder ${folder} cannot be read (${message}). Start Mainspring as the user who owns it, or ${ELSEWHERE}.`,
      { cause },
    );
  }
}

function refuseForeign(pgdata: string, names: string[]): void {
  if (names.includes(MARKER)) return;
  throw new StoreUnusable(
    `The folder ${pgdata} holds files that Mainspring did not make; it is left as it is. Move it away, or ${ELSEWHERE}.`,
  );
}

async function refuseOtherVersion(pgdata: string, major: number): Promise<void> {
  const text = await readFile(join(pgdata, "PG_VERSION"), "utf8").catch(() => "");
  const found = /^\d+\s*$/.test(text) ? Number(text) : null;
  if (found === null) throw new StoreUnusable(damaged(pgdata, "PG_VERSION is missing or not a number"));
  if (found > major) {
    throw new StoreUnusable(
      `The data folder ${pgdata} was made by PostgreSQL ${found}, which is newer than the ${major} of this Mainspring. Update Mainspring, or ${ELSEWHERE}.`,
    );
  }
  if (found < major) {
    throw new StoreUnusable(
      `The data folder ${pgdata} was made by PostgreSQL ${found}; this Mainspring brings ${major}. Run the Mainspring that made it, dump the database with pg_dump and restore it into a new folder, or ${ELSEWHERE}.`,
    );
  }
}

function refuseDamaged(pgdata: string, names: string[], global: string[]): void {
  const missing = ["base", "global", "pg_wal", "pg_xact"].filter((name) => !names.includes(name));
  if (!global.includes("pg_control")) missing.push("global/pg_control");
  if (missing.length > 0) throw new StoreUnusable(damaged(pgdata, `${missing.join(", ")} missing`));
}

/** Message for a folder on which PostgreSQL cannot start. */
export function damaged(pgdata: string, why: string): string {
  return `PostgreSQL cannot start on the data folder ${pgdata}: ${why}. Restore the folder from a backup, or ${ELSEWHERE}.`;
}
