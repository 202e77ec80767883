import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import type { run } from "node:test";

/** Time that a file has for its hooks after the signal to end, in milliseconds. */
const END_MS = 10_000;

interface Limits {
  /** Time limit of a file, in milliseconds. */
  fileMs: number;
  /** Time without a report after which a file ends whose hook has failed, in milliseconds. */
  quietMs: number;
}

interface Running {
  limit: NodeJS.Timeout;
  /** Ends a file that stays quiet after a failed hook; null: no hook has failed. */
  quiet: NodeJS.Timeout | null;
}

/**
 * Ends files that would run on. A file whose `before` fails keeps what the hook has opened until then, and its `after`
 * often fails too, so nothing would end the process. The other files of the run are not affected.
 * @param files paths as the runner has them
 * @param say receives one sentence for each file that was ended
 */
export function endHangingFiles(
  events: ReturnType<typeof run>,
  files: readonly string[],
  { fileMs, quietMs }: Limits,
  say: (sentence: string) => void,
): void {
  const running = new Map<string, Running>();
  const children = new Set<ChildProcess>();
  subscribe("child_process", (message) => {
    const { process: child } = message as { process: ChildProcess };
    children.add(child);
    child.once("exit", () => children.delete(child));
  });
  const end = (file: string, why: string) => {
    say(`${file} ${why}, so the run has ended it`);
    for (const child of children) {
      if (child.spawnargs.at(-1) !== file) continue;
      child.kill("SIGTERM");
      const kill = setTimeout(() => child.kill("SIGKILL"), END_MS);
      child.once("exit", () => clearTimeout(kill));
    }
  };
  const fallsQuiet = (file: string) =>
    setTimeout(end, quietMs, file, `has reported nothing for ${quietMs / 1_000} s after a hook of it failed`);

  // The runner reports a file like a test, under its path.
  events.on("test:dequeue", ({ name }) => {
    if (!files.includes(name)) return;
    const limit = setTimeout(end, fileMs, name, `has not ended after ${fileMs / 60_000} minutes`);
    running.set(name, { limit, quiet: null });
  });
  events.on("test:complete", ({ name, file, details }) => {
    const ended = running.get(name);
    if (ended !== undefined) {
      clearTimeout(ended.limit);
      clearTimeout(ended.quiet ?? undefined);
      running.delete(name);
      return;
    }
    const path = files.find((each) => file?.endsWith(each));
    const state = path === undefined ? undefined : running.get(path);
    if (path === undefined || state === undefined) return;
    const isHook = (details.error as { failureType?: string } | undefined)?.failureType === "hookFailed";
    if (!isHook && state.quiet === null) return;
    clearTimeout(state.quiet ?? undefined);
    state.quiet = fallsQuiet(path);
  });
}
