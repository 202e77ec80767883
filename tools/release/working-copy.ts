import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const OURS = "@mainspring";

/** Text of `git`, run in a folder. @throws where it fails */
export function git(root: string, ...args: string[]): string {
  return execFileSync("git", args, { cwd: root, stdio: ["ignore", "pipe", 2], maxBuffer: 64 * 1024 * 1024 }).toString();
}

/** Files that differ from the last commit, or are new; as `git status` shows them. */
export function changedFiles(root: string): string[] {
  return git(root, "status", "--porcelain").split("\n").filter(Boolean);
}

/**
 * Copies the files of the repository as they are now into a temporary folder, with the same installed packages.
 * @returns its path; the caller removes it
 */
export function workingCopy(root: string): string {
  const copy = mkdtempSync(join(tmpdir(), "mainspring-release-"));
  for (const file of git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")) {
    // A file that was deleted is listed until that is committed.
    if (file === "" || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  linkPackages(root, copy);
  return copy;
}

/** The copy's own packages must be found below the copy, all others where they are. */
function linkPackages(root: string, copy: string): void {
  const [from, to] = [join(root, "node_modules"), join(copy, "node_modules")];
  mkdirSync(join(to, OURS), { recursive: true });
  for (const name of readdirSync(from)) if (name !== OURS) symlinkSync(join(from, name), join(to, name), "junction");
  for (const name of readdirSync(join(copy, "packages")))
    symlinkSync(join(copy, "packages", name), join(to, OURS, name), "junction");
}
