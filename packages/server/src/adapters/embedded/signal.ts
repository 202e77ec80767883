import type { Installation } from "./installation.ts";
import { runInside } from "./installation.ts";

/** Sends a signal to a PostgreSQL process; a process that has ended already is no error. */
export async function signal(pid: number, name: "INT" | "QUIT" | "KILL", installation: Installation): Promise<void> {
  if (process.platform === "win32" && name !== "KILL") {
    // Windows has no signals; PostgreSQL emulates them, and pg_ctl sends them.
    const pgCtl = installation.binaries.initdb.replace(/initdb\.exe$/, "pg_ctl.exe");
    await runInside(installation, pgCtl, ["kill", name, String(pid)]);
    return;
  }
  try {
    process.kill(pid, `SIG${name}`);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause;
  }
}
