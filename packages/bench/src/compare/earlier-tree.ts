import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type SourceTree, THIS_TREE } from "../contenders/mainspring/source-tree.ts";

const run = promisify(execFile);
const BENCH = join("packages", "bench", "src");

/** An earlier commit in a temporary folder, with its dependencies, and with the worker programs of this benchmark. */
export interface EarlierTree extends SourceTree, AsyncDisposable {
  readonly label: string;
}

/** @param ref tag, branch or commit @throws the repository does not have it, or its dependencies cannot be installed */
export async function earlierTree(ref: string): Promise<EarlierTree> {
  const label = await commitOf(ref);
  const folder = await mkdtemp(join(tmpdir(), "bench-earlier-"));
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  try {
    await checkOut(label, folder);
    console.log(`installing the dependencies of ${ref} (${label})`);
    await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder });
    await rm(join(folder, BENCH), { recursive: true, force: true });
    await cp(join(THIS_TREE.folder, BENCH), join(folder, BENCH), { recursive: true });
  } catch (cause) {
    await remove();
    throw new Error(`${ref} (${label}) could not be installed`, { cause });
  }
  return { folder, label, [Symbol.asyncDispose]: remove };
}

async function commitOf(ref: string): Promise<string> {
  const args = ["rev-parse", "--verify", "--quiet", "--short=12", "--end-of-options", `${ref}^{commit}`];
  try {
    return (await run("git", args, { cwd: THIS_TREE.folder })).stdout.trim();
  } catch (cause) {
    const advice =
      "give a tag, a branch or a commit; a shallow clone has only its newest: git fetch --unshallow --tags";
    throw new Error(`--compare: this repository has no commit "${ref}": ${advice}`, { cause });
  }
}

/** Unpacks an archive of the commit, which leaves no trace in the repository as a worktree would. */
async function checkOut(commit: string, folder: string): Promise<void> {
  const archive = join(folder, "tree.tar");
  await run("git", ["archive", "--format=tar", `--output=${archive}`, commit], { cwd: THIS_TREE.folder });
  await run("tar", ["-xf", archive, "-C", folder]);
  await rm(archive);
}
