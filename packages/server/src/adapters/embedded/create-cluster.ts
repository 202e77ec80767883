import { chown, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { StoreUnusable } from "../../ports/store.ts";
import { MARKER } from "./cluster.ts";
import type { Endpoint } from "./endpoint.ts";
import { type Installation, runInside } from "./installation.ts";

/** Role that owns every object in the database. */
export const ROLE = "mainspring";

const UNFINISHED = "postgres.new-";

/**
 * Creates a new cluster under a temporary name, and renames it when it is complete and on disk, so that a crash never
 * leaves a folder that looks complete.
 * @throws {StoreUnusable} initdb failed; the message has its last lines
 */
export async function createCluster(installation: Installation, endpoint: Endpoint): Promise<void> {
  const { home, pgdata } = installation;
  await sweepUnfinished(home);
  const fresh = await mkdtemp(join(home, UNFINISHED));
  const { owner } = installation.identity;
  if (owner !== null) await chown(fresh, owner.uid, owner.gid);
  try {
    await runInitdb(installation, fresh, endpoint);
    await writeDurably(fresh, "pg_hba.conf", endpoint.accessRules);
    await writeDurably(
      fresh,
      MARKER,
      "PostgreSQL's files, kept by Mainspring. Nothing here is to be edited by hand.\n",
    );
    await syncFolder(fresh);
    await rename(fresh, pgdata);
    await syncFolder(dirname(pgdata));
  } catch (cause) {
    await rm(fresh, { recursive: true, force: true });
    throw cause;
  }
}

/**
 * Removes folders that a crash left unfinished. An initdb that outlived its server may still be writing there; then the
 * next start removes the folder.
 */
async function sweepUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(UNFINISHED)) continue;
    await rm(join(home, name), { recursive: true, force: true }).catch(() => {});
  }
}

async function runInitdb(installation: Installation, folder: string, endpoint: Endpoint): Promise<void> {
  // No collation library decides the order of an index, because an update of the library could silently break the
  // index.
  const args = ["-D", folder, "-U", ROLE, "--encoding=UTF8", "--no-locale", "--no-instructions"];
  const passwordFile = await readablePassword(installation, endpoint);
  if (passwordFile === undefined) args.push("--auth=trust");
  else args.push("--auth=scram-sha-256", `--pwfile=${passwordFile}`);
  const end = await runInside(installation, installation.binaries.initdb, args);
  if (passwordFile !== undefined && passwordFile !== endpoint.passwordFile) await rm(passwordFile);
  if (end.code === 0) return;
  throw new StoreUnusable(
    `PostgreSQL's initdb could not make the data folder ${installation.pgdata}: ${lastLines(end.output)}. Mend that, or choose another folder with MAINSPRING_DATA_DIR.`,
  );
}

/**
 * The file with the password. If initdb runs as another user, this is a copy in a folder of that user, to be removed
 * later.
 */
async function readablePassword({ identity }: Installation, endpoint: Endpoint): Promise<string | undefined> {
  const { passwordFile, password = "" } = endpoint;
  if (identity.owner === null || passwordFile === undefined) return passwordFile;
  const copy = join(endpoint.host, "password-for-initdb");
  await writeFile(copy, password, { mode: 0o600 });
  await chown(copy, identity.owner.uid, identity.owner.gid);
  return copy;
}

/**
 * Updates the access rules of a cluster whose earlier Mainspring trusted every program of PostgreSQL's user: gives the
 * role its password first, then requires the password. After a crash in between, the next start repeats the update,
 * because the file of rules changes last.
 */
export async function askForPassword({ pgdata, identity }: Installation, endpoint: Endpoint): Promise<void> {
  const { host, port, password, accessRules } = endpoint;
  if (password === undefined || (await readFile(join(pgdata, "pg_hba.conf"), "utf8")) === accessRules) return;
  const { Client } = await import("pg");
  const client = new Client({ host, port, user: ROLE, password, database: "postgres" });
  await client.connect();
  try {
    // The password has only hexadecimal digits, so it needs no quoting.
    await client.query(`ALTER ROLE ${ROLE} PASSWORD '${password}'`);
    const fresh = join(pgdata, "pg_hba.conf.new");
    await writeFile(fresh, accessRules, { mode: 0o600, flush: true });
    if (identity.owner !== null) await chown(fresh, identity.owner.uid, identity.owner.gid);
    await rename(fresh, join(pgdata, "pg_hba.conf"));
    await syncFolder(pgdata);
    await client.query("SELECT pg_reload_conf()");
  } finally {
    await client.end();
  }
}

function lastLines(output: string): string {
  return output.split("\n").slice(-4).join("; ");
}

async function writeDurably(folder: string, name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text, { flush: true });
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder to sync it.
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
