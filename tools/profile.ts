import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { readOptions, USAGE } from "./profile/options.ts";
import type { ProfileOptions } from "./profile/run-profile.ts";

/**
 * `npm run profile -- a` or `b`: starts all servers of a profile, three nodes and a worker, prints their addresses, and runs until
 * Ctrl-C, which stops everything and removes all data. With `--check` the demo and the end-to-end tests run on these servers,
 * and the program ends with their result.
 */

const RUN = fileURLToPath(new URL("./profile/run-process.ts", import.meta.url));

const options = optionsOf(process.argv.slice(2));
const folder = await mkdtemp(join(tmpdir(), "mainspring-profile-"));
// PostgreSQL runs as another user, who needs access to its own folder in this one.
await chmod(folder, 0o711);
const env = { ...process.env, TMPDIR: folder };
const child = fork(RUN, [JSON.stringify(options)], {
  detached: true,
  env,
  stdio: ["ignore", "inherit", "inherit", "ipc"],
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => void (child.connected && child.send(signal)));
const code = await new Promise<number>((resolve) => {
  child.once("error", () => resolve(1));
  child.once("exit", (status) => resolve(status ?? 1));
});
endRest();
// A program that was being killed may still have made a folder.
for (let tries = 0; tries < 20 && existsSync(folder); tries++) {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  await setTimeout(100);
}
process.exitCode = code;

/** Ends programs that prepare a server, such as the one that formats the folder of Kafka. They are in the session of the child. */
function endRest(): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nothing is left in the session.
  }
}

function optionsOf(args: readonly string[]): ProfileOptions {
  try {
    return readOptions(args);
  } catch (error) {
    console.error(`profile: ${(error as Error).message}\n${USAGE}`);
    process.exit(2);
  }
}
