import { execFile } from "node:child_process";
import { copyFile, mkdir, readdir, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const run = promisify(execFile);

/** The last commit whose program has the feature level before this one's. */
export const RELEASE_BEFORE = "3689dd99a6c131eb2f0a7d46fd44982013d8d6cb";

const DIGEST = "packages/crash/src/history/digest.ts";

/** Files of a release from which processes are started. */
export interface Release {
  /** File of the command `mainspring`. */
  command: string;
  /** File of a worker of the chaos tests. */
  worker: string;
}

/**
 * Unpacks a commit of this repository, beside the npm packages that are installed here.
 * @throws {Error} the repository has no such commit
 */
export async function unpackRelease(commit: string, folder: string): Promise<Release> {
  await mkdir(folder, { recursive: true });
  const archive = join(folder, "release.tar");
  await run("git", ["-C", ROOT, "archive", "--output", archive, commit, "packages"]).catch((cause: unknown) => {
    throw new Error(`this clone lacks the release before, ${commit}: git fetch --unshallow`, { cause });
  });
  await run("tar", ["-xf", archive, "-C", folder]);
  // The judge compares digests of results that workers of both releases write down.
  await copyFile(join(ROOT, DIGEST), join(folder, DIGEST));
  await linkPackages(folder);
  const packages = join(folder, "packages");
  return {
    command: join(packages, "cli/bin/mainspring.mjs"),
    worker: join(packages, "crash/src/load/worker-process.ts"),
  };
}

/** Links the npm packages that are installed here, and the unpacked packages of the repository. */
async function linkPackages(folder: string): Promise<void> {
  const [installed, modules] = [join(ROOT, "node_modules"), join(folder, "node_modules")];
  await mkdir(join(modules, "@mainspring"), { recursive: true });
  for (const name of await readdir(installed)) {
    if (name !== "@mainspring") await symlink(join(installed, name), join(modules, basename(name)));
  }
  for (const name of await readdir(join(folder, "packages"))) {
    await symlink(join(folder, "packages", name), join(modules, "@mainspring", name));
    const own = join(ROOT, "packages", name, "node_modules");
    if ((await readdir(own).catch(() => [])).length > 0) {
      await symlink(own, join(folder, "packages", name, "node_modules"));
    }
  }
}
