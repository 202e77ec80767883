import type { ChildProcess } from "node:child_process";
import { readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { StoreUnusable } from "../../ports/store.ts";
import { type Binaries, majorVersion, placeLink, readyBinaries } from "./binaries.ts";
import { inspectCluster } from "./cluster.ts";
import { type Identity, possibleIdentities, SELF, spawnAs } from "./identity.ts";
import { type ProgramEnd, programEnd } from "./run-program.ts";
import { copyOfBinaries, digest, makeShared, SHARED_DIR } from "./shared-folder.ts";

/** One data folder, the programs that serve it, and the user as which they run. */
export interface Installation {
  readonly binaries: Binaries;
  readonly identity: Identity;
  /** Folder for everything besides the cluster: its socket, its log. Usually the data folder itself. */
  readonly home: string;
  /** PostgreSQL's own folder, in `home`. */
  readonly pgdata: string;
  /** Whether `pgdata` must still be created. */
  readonly isNew: boolean;
}

/**
 * Examines the data folder and decides which program runs where and as which user.
 * @param dataDir absolute path, without symlinks, locked by this process
 * @param root folder of the binaries, with `bin` in it
 * @throws {StoreUnusable} the binaries do not run here, or the data folder is not usable
 */
export async function prepareInstallation(dataDir: string, root: string): Promise<Installation> {
  const binaries = await readyBinaries(root, join(dataDir, "lib"));
  const major = await majorVersion(binaries);
  const owner = await inspectCluster(join(dataDir, "postgres"), major);
  const isNew = owner === null;
  for (const home of await possibleHomes(dataDir, isNew)) {
    for (const identity of await possibleIdentities(owner)) {
      if (!(await canReach(identity, home))) continue;
      if (home !== dataDir) await placeLink(join(home, "postgres"), join(dataDir, "postgres"));
      const installation = { identity, home, pgdata: join(home, "postgres"), isNew };
      return { ...installation, binaries: await reachableBinaries(identity, binaries) };
    }
  }
  throw new StoreUnusable(
    `PostgreSQL does not run as root, and no other way was found to run it on ${dataDir}. Start Mainspring as a normal user who owns the data folder, or give a PostgreSQL of your own with MAINSPRING_STORE=postgres://user:password@host:5432/database.`,
  );
}

/**
 * Environment of PostgreSQL's programs, without our secrets and without PG* variables, which would change their
 * behaviour.
 */
function environment(binaries: Binaries): NodeJS.ProcessEnv {
  const passed = ["PATH", "TMPDIR", "SystemRoot", "TEMP", "TMP"];
  const kept = passed.map((name) => [name, process.env[name]]).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(kept), LC_ALL: "C", ...binaries.env };
}

/** Options for `spawn` with one of PostgreSQL's programs. */
export function spawnOptions(installation: Pick<Installation, "binaries" | "home">) {
  // Another user may have no access to the server's own working folder.
  return { cwd: installation.home, env: environment(installation.binaries) };
}

/** Runs one of PostgreSQL's programs to its end. */
export function runInside(installation: Installation, program: string, args: readonly string[]): Promise<ProgramEnd> {
  const options = { ...spawnOptions(installation), stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"] };
  return programEnd(spawnAs(installation.identity, program, args, options));
}

async function possibleHomes(dataDir: string, isNew: boolean): Promise<string[]> {
  const link = await readlink(join(dataDir, "postgres")).catch(() => null);
  if (link?.startsWith(`${SHARED_DIR}/`)) return [dirname(link)];
  return isNew && process.getuid?.() === 0 ? [dataDir, join(SHARED_DIR, digest(dataDir))] : [dataDir];
}

async function canReach(identity: Identity, home: string): Promise<boolean> {
  if (identity === SELF) return true;
  if (home.startsWith(`${SHARED_DIR}/`)) await makeShared(home);
  return succeeds(spawnAs(identity, "/bin/sh", ["-c", 'test -x "$1"', "sh", home], { cwd: "/" }));
}

function succeeds(child: ChildProcess): Promise<boolean> {
  return programEnd(child).then(
    (end) => end.code === 0,
    () => false,
  );
}

async function reachableBinaries(identity: Identity, binaries: Binaries): Promise<Binaries> {
  if (identity === SELF) return binaries;
  const probe = spawnAs(identity, binaries.postgres, ["--version"], { cwd: "/", env: environment(binaries) });
  return (await succeeds(probe)) ? binaries : copyOfBinaries(binaries);
}
