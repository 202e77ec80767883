import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { until } from "../clock.ts";

const SEEN_WITHIN_MS = 60_000;

/**
 * Kills a postmaster, even one that is starting.
 * @param lockFile a lock file of PostgreSQL, with the process id in its first line
 * @param tell called with the process id before the signal is sent
 */
export async function killPostmaster(lockFile: string, tell: (pid: number) => void): Promise<void> {
  const pid = await until("PostgreSQL runs", SEEN_WITHIN_MS, () => livingPostmaster(lockFile), 5);
  tell(pid);
  process.kill(pid, "SIGKILL");
}

/** Id of the postmaster. The file outlives a killed postmaster, and its process id may have been reused. */
async function livingPostmaster(lockFile: string): Promise<number | null> {
  const pid = Number.parseInt(await readFile(lockFile, "utf8").catch(() => ""), 10);
  return Number.isInteger(pid) && (await commandOf(pid)).includes("postgres") ? pid : null;
}

/** Command line of a process; empty: it has ended. */
async function commandOf(pid: number): Promise<string> {
  if (process.platform === "linux") return readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  const ps = await promisify(execFile)("ps", ["-o", "command=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return ps.stdout.includes("<defunct>") ? "" : ps.stdout;
}
