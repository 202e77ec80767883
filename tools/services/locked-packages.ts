import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { installOnce } from "./install-once.ts";

const run = promisify(execFile);

/**
 * The `node_modules` with the packages of a folder's lockfile. Missing packages are installed, which takes a network and some seconds.
 *
 * The packages lie in a folder that is named after the lockfile and gets that name when it is whole: so an update of
 * the lockfile installs anew, and tests that start at once do not disturb each other.
 * @param folder has package.json and package-lock.json
 */
export async function lockedPackages(folder: string): Promise<string> {
  const lockfile = await readFile(join(folder, "package-lock.json"));
  const name = createHash("sha256").update(lockfile).digest("hex").slice(0, 16);
  const installed = join(folder, "node_modules", name);
  await installOnce(installed, (fresh) => install(folder, fresh));
  return join(installed, "node_modules");
}

async function install(folder: string, fresh: string): Promise<void> {
  for (const file of ["package.json", "package-lock.json"]) await copyFile(join(folder, file), join(fresh, file));
  await run("npm", ["ci", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: fresh,
  });
}
