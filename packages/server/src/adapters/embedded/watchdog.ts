import { spawn } from "node:child_process";

/** Something that stops PostgreSQL when this process dies. */
export interface Watchdog {
  /** To be called when PostgreSQL has ended. Idempotent. */
  dismiss(): void;
}

/**
 * A shell that waits on a pipe from us. When this process dies, however it dies, the pipe ends without a word and the
 * shell stops PostgreSQL; so nothing runs on for long after a kill. (The next start would stop it too.)
 * Not on Windows, which has no such shell.
 */
export function watchOver(postmasterPid: number): Watchdog {
  if (process.platform === "win32") return { dismiss: () => {} };
  const script = 'read -r word || kill -INT "$1"';
  const shell = spawn("/bin/sh", ["-c", script, "mainspring-watchdog", String(postmasterPid)], {
    cwd: "/",
    env: {},
    stdio: ["pipe", "ignore", "ignore"],
    // A session of its own: what a terminal sends to all of us must reach neither it nor PostgreSQL.
    detached: true,
  });
  // Without a shell we lose the comfort, not the safety.
  shell.on("error", () => {});
  shell.stdin.on("error", () => {});
  shell.unref();
  return { dismiss: () => shell.stdin.end("done\n") };
}
