import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";

/** Processes that must not outlive this one, and the folders that they leave. */
const leashed = new Map<ChildProcess, string | null>();

process.once("exit", () => {
  for (const child of leashed.keys()) child.kill("SIGKILL");
  for (const folder of leashed.values()) {
    if (folder !== null) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});
// A signal alone ends a process without a word to anybody.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

/**
 * However this process ends, the other one is killed and its folder is removed. A caller that stops the process in the
 * normal way removes the folder itself.
 */
export function leash(child: ChildProcess, folder: string | null = null): void {
  leashed.set(child, folder);
  child.once("exit", () => leashed.delete(child));
}
