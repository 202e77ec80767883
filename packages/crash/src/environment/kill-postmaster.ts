import { readFile } from "node:fs/promises";
import { until } from "../clock.ts";
import { commandOf } from "./command-of.ts";

const SEEN_WITHIN_MS = 60_000;

/**
 * SIGKILL of a postmaster, be it coming up.
 * @param lockFile one of PostgreSQL's, with its process id in the first line
 * @param tell hears the process id before the signal is sent
 */
export async function killPostmaster(lockFile: string, tell: (pid: number) => void): Promise<void> {
  const pid = await until("PostgreSQL runs", SEEN_WITHIN_MS, () => livingPostmaster(lockFile), 5);
  tell(pid);
  process.kill(pid, "SIGKILL");
}

/** The file outlives a postmaster that was killed, and its process id may be somebody else's by then. */
async function livingPostmaster(lockFile: string): Promise<number | null> {
  const pid = Number.parseInt(await readFile(lockFile, "utf8").catch(() => ""), 10);
  return Number.isInteger(pid) && (await commandOf(pid)).includes("postgres") ? pid : null;
}
