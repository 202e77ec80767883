import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { runProgram } from "./run-program.ts";

/** A PostgreSQL process that works on some data folder. */
export interface PostgresProcess {
  readonly pid: number;
  /** Path of the process's program. */
  readonly executable: string;
}

/** The pid in `postmaster.pid`, or null. The process may be long dead and its pid reused. */
export async function recordedPostmaster(pgdata: string): Promise<number | null> {
  const text = await readFile(join(pgdata, "postmaster.pid"), "utf8").catch(() => "");
  const pid = Number.parseInt(text, 10);
  return pid > 0 ? pid : null;
}

/**
 * Processes that work on `pgdata`. On Linux these are all, including orphans of a postmaster. Elsewhere it is only the
 * postmaster that the folder itself records, because orphans do not show their folder.
 */
export function postgresOn(pgdata: string, executable: string): Promise<PostgresProcess[]> {
  return process.platform === "linux" ? scanProc(pgdata) : askForRecorded(pgdata, executable);
}

async function scanProc(pgdata: string): Promise<PostgresProcess[]> {
  const folder = await stat(pgdata).catch(() => null);
  if (folder === null) return [];
  const found: PostgresProcess[] = [];
  for (const entry of await readdir("/proc")) {
    const executable = /^\d+$/.test(entry) ? await executableOf(entry) : null;
    if (executable === null || basename(executable) !== "postgres") continue;
    // The check compares inodes, because the folder may have been moved, or the process may know it by another path.
    const cwd = await stat(`/proc/${entry}/cwd`).catch(() => null);
    if (cwd?.ino === folder.ino && cwd.dev === folder.dev) found.push({ pid: Number(entry), executable });
  }
  return found;
}

async function executableOf(pid: string): Promise<string | null> {
  // The link is unreadable for zombies, kernel threads and processes of other users. If an update has replaced the file
  // of a running program, a note follows the path.
  const path = await readlink(`/proc/${pid}/exe`).catch(() => null);
  return path?.replace(/ \(deleted\)$/, "") ?? null;
}

async function askForRecorded(pgdata: string, executable: string): Promise<PostgresProcess[]> {
  const pid = await recordedPostmaster(pgdata);
  const command = pid === null ? "" : await commandOf(pid);
  if (pid === null || !command.includes(pgdata)) return [];
  const isOurs = command.startsWith(executable) || command.startsWith(`"${executable}"`);
  return [{ pid, executable: isOurs ? executable : command }];
}

async function commandOf(pid: number): Promise<string> {
  const query = `(Get-CimInstance Win32_Process -Filter 'ProcessId=${pid}').CommandLine`;
  const asked =
    process.platform === "win32"
      ? runProgram("powershell", ["-NoProfile", "-Command", query])
      : runProgram("ps", ["-p", String(pid), "-o", "command="]);
  return (await asked).output;
}
