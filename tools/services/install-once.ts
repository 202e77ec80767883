import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";

/** Folder of what tests of this machine have downloaded, for all clones. */
export const DOWNLOADS = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "mainspring-tests");

/**
 * Fills a folder unless it exists. The folder gets its name when it is complete, so that concurrent tests do not disturb each
 * other, and an interrupted installation leaves nothing that looks complete.
 * @param target name of the folder, which has to change with its content
 * @param fill fills a new and empty folder
 */
export async function installOnce(target: string, fill: (fresh: string) => Promise<void>): Promise<void> {
  if (existsSync(target)) return;
  await mkdir(dirname(target), { recursive: true });
  const fresh = await mkdtemp(`${target}.new-`);
  try {
    await fill(fresh);
    await rename(fresh, target);
  } catch (cause) {
    await rm(fresh, { recursive: true, force: true });
    if (!existsSync(target)) throw cause;
  }
}
