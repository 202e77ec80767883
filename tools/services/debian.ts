import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Installs a Debian package, as root, which takes a network and some seconds.
 * @param whatFor purpose, for the error if the package cannot be installed
 */
export async function installDebianPackage(name: string, whatFor: string): Promise<void> {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get"))
    throw new Error(`${whatFor}; as root: apt-get install -y --no-install-recommends ${name}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-qq"], { env });
  await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", name], { env });
}
