import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

/** Folder of the peers, which are a package of their own, so that only users who measure them install them. */
const FOLDER = join(import.meta.dirname, "..", "peers");
const INSTALLED = join(FOLDER, "node_modules", ".installed-lock.json");

/** Installs the peers in the versions of the lockfile, if they are missing. */
export async function installPeers(): Promise<void> {
  const lockfile = join(FOLDER, "package-lock.json");
  if (existsSync(INSTALLED) && (await readFile(INSTALLED, "utf8")) === (await readFile(lockfile, "utf8"))) return;
  console.log("installing the peers");
  const args = ["ci", "--prefix", FOLDER, "--ignore-scripts", "--no-audit", "--no-fund"];
  await promisify(execFile)("npm", args, { cwd: FOLDER });
  await copyFile(lockfile, INSTALLED);
}

/**
 * Loads a peer. Each caller describes the shape that it needs, because the package's own types are not installed
 * everywhere.
 */
export async function loadPeer<T>(name: string): Promise<T> {
  const file = createRequire(join(FOLDER, "package.json")).resolve(name);
  return (await import(pathToFileURL(file).href)) as T;
}

/** Versions of the measured peers, such as `pg-boss 12.35.0`. */
export async function peerVersions(): Promise<Record<string, string>> {
  const { dependencies } = JSON.parse(await readFile(join(FOLDER, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return dependencies;
}
