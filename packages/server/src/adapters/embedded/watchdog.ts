import { spawn } from "node:child_process";

/** Helper that stops PostgreSQL when this process dies. */
export interface Watchdog {
  /** Ends the watchdog once PostgreSQL has ended. Repeated calls do nothing. */
  dismiss(): void;
}

/**
 * Starts a shell that waits on a pipe from this process. When this process dies, however that happens, the pipe ends
 * without a message and the shell stops PostgreSQL, so PostgreSQL does not run on for long after a kill. (The next
 * start would stop it too.) Windows has no such shell.
 */
export function watchOver(postmasterPid: number): Watchdog {
  if (process.platform === "win32") return { dismiss: () => {} };
  const script = 'read -r word || kill -INT "$1"';
  const shell = spawn("/bin/sh", ["-c", script, "mainspring-watchdog", String(postmasterPid)], {
    cwd: "/",
    env: {},
    stdio: ["pipe", "ignore", "ignore"],
    // The shell has a session of its own, so that a terminal's signals reach neither the shell nor PostgreSQL.
    detached: true,
  });
  // Without a shell, PostgreSQL runs on after a kill until the next start stops it, which is still safe.
  shell.on("error", () => {});
  shell.stdin.on("error", () => {});
  shell.unref();
  return { dismiss: () => shell.stdin.end("done\n") };
}
