import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/** The peers are a package of their own, so that nobody installs them who does not measure them. */
const FOLDER = join(import.meta.dirname, "..", "peers");
const INSTALLED = join(FOLDER, "node_modules", ".installed-lock.json");

/** Installs the peers, in the versions that the lockfile has, where they are not there yet. */
export async function installPeers(): Promise<void> {
  const lockfile = join(FOLDER, "package-lock.json");
  if (existsSync(INSTALLED) && (await readFile(INSTALLED, "utf8")) === (await readFile(lockfile, "utf8"))) return;
  console.log("installing the peers");
  const args = ["ci", "--prefix", FOLDER, "--ignore-scripts", "--no-audit", "--no-fund"];
  await promisify(execFile)("npm", args, { cwd: FOLDER });
  await copyFile(lockfile, INSTALLED);
}

/** Loads one of them. Each user describes the shape it needs: the package's own types are not installed everywhere. */
export async function loadPeer<T>(name: string): Promise<T> {
  const file = createRequire(join(FOLDER, "package.json")).resolve(name);
  return (await import(pathToFileURL(file).href)) as T;
}

/** As `pg-boss 12.35.0`, of those that are measured. */
export async function peerVersions(): Promise<Record<string, string>> {
  const { dependencies } = JSON.parse(await readFile(join(FOLDER, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return dependencies;
}
