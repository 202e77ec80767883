import { createHash } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type Binaries, packagedLinks, placeLink, readyBinaries } from "./binaries.ts";
import { runProgram } from "./run-program.ts";

/** Folder of files that another user must reach, if the data folder or the binaries lie where only root has access. */
export const SHARED_DIR = "/var/lib/mainspring";

/** Creates the folder (in) `SHARED_DIR`, which every user can enter, whatever the umask. */
export async function makeShared(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(SHARED_DIR, 0o755);
  await chmod(folder, 0o755);
}

/** Binaries that every user can reach: the copy that an earlier start made of these, or a new one. */
export async function copyOfBinaries(binaries: Binaries): Promise<Binaries> {
  const copy = join(SHARED_DIR, `postgresql-${await fingerprint(binaries)}`);
  const isThere = await stat(copy).then(
    () => true,
    () => false,
  );
  if (!isThere) await copyBinaries(binaries.root, copy);
  return readyBinaries(copy, join(copy, "lib"));
}

/** Copies the binaries. If two servers make the same copy at the same time, the first rename succeeds and counts. */
async function copyBinaries(root: string, copy: string): Promise<void> {
  await makeShared(SHARED_DIR);
  const fresh = await mkdtemp(`${copy}.new-`);
  try {
    await cp(root, fresh, { recursive: true, verbatimSymlinks: true });
    for (const { path, file } of await packagedLinks(root)) {
      await placeLink(relative(dirname(path), file), join(fresh, path));
    }
    await openToAll(fresh);
    await rename(fresh, copy);
  } catch (cause) {
    await rm(fresh, { recursive: true, force: true });
    if (!["EEXIST", "ENOTEMPTY"].includes((cause as NodeJS.ErrnoException).code ?? "")) throw cause;
  }
}

async function openToAll(folder: string): Promise<void> {
  const { code, output } = await runProgram("/bin/chmod", ["-R", "a+rX", folder]);
  if (code !== 0) throw new Error(`chmod of ${folder} failed: ${output}`);
}

async function fingerprint(binaries: Binaries): Promise<string> {
  const { size, mtimeMs } = await stat(binaries.postgres);
  return digest(`${binaries.root} ${size} ${mtimeMs}`);
}

/** Short name derived from a long text. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
