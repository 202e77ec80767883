import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { DOWNLOADS } from "./install-once.ts";

const run = promisify(execFile);
/** Lock of the callers, because apt-get does not wait for another apt-get. */
const LOCK = join(DOWNLOADS, "apt-get.lock");

/**
 * Installs a Debian package, as root, which takes a network and some seconds.
 * @param whatFor purpose, for the error if the package cannot be installed
 */
export async function installDebianPackage(name: string, whatFor: string): Promise<void> {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get"))
    throw new Error(`${whatFor}; as root: apt-get install -y --no-install-recommends ${name}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const aptGet = (...args: string[]) => run("flock", [LOCK, "apt-get", "-qq", ...args], { env });
  await mkdir(DOWNLOADS, { recursive: true });
  await aptGet("update");
  await aptGet("install", "-y", "--no-install-recommends", name);
}
