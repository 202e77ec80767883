import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";

/** Processes that must not outlive this one, and their folders. */
const leashed = new Map<ChildProcess, string | null>();

process.once("exit", () => {
  for (const child of leashed.keys()) child.kill("SIGKILL");
  for (const folder of leashed.values()) {
    if (folder !== null) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});
// A signal alone would end the process without its exit handlers.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

/**
 * Kills the other process and removes its folder when this process ends in any way. A caller that stops the other
 * process in an orderly way removes the folder itself.
 */
export function leash(child: ChildProcess, folder: string | null = null): void {
  leashed.set(child, folder);
  child.once("exit", () => leashed.delete(child));
}
