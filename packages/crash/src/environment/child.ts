import { type ChildProcess, fork, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";

export interface ChildOptions {
  /** Standard output and error are appended to it. */
  logFile: string;
  env?: Record<string, string>;
  /** As whom it runs; default: as this process. */
  user?: { uid: number; gid: number };
}

/** A process that is started to be killed. */
export interface Child {
  readonly pid: number;
  /** With why it ended, as `code 1` or `SIGKILL`. */
  readonly ended: Promise<string>;
  /** Null while it runs. */
  endedBy(): string | null;
  /** Any signal; nothing happens where it has ended. */
  signal(name: NodeJS.Signals): void;
  /** Sends an empty message, for those that were forked. */
  nudge(): void;
}

const alive = new Set<ChildProcess>();
// Nothing outlives this process: what was stopped must be killed, it would not hear anything else.
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

/** Node with the arguments. */
export function startNode(args: readonly string[], options: ChildOptions): Child {
  return watched(options, (stdio, env) => spawn(process.execPath, [...args], { stdio: ["ignore", ...stdio], env }));
}

export function startProgram(file: string, args: readonly string[], options: ChildOptions): Child {
  const { user } = options;
  return watched(options, (stdio, env) =>
    spawn(file, [...args], { stdio: ["ignore", ...stdio], env, cwd: "/", ...user }),
  );
}

/** Like `startNode`, with a channel that tells the process when this one is gone. */
export function forkNode(file: string, args: readonly string[], options: ChildOptions): Child {
  return watched(options, (stdio, env) => fork(file, [...args], { stdio: ["ignore", ...stdio, "ipc"], env }));
}

function watched(
  { logFile, env = {} }: ChildOptions,
  start: (stdio: [number, number], env: NodeJS.ProcessEnv) => ChildProcess,
): Child {
  const log = openSync(logFile, "a");
  const child = start([log, log], { ...process.env, ...env });
  closeSync(log);
  alive.add(child);
  let end: string | null = null;
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `code ${code}`));
  }).then((why) => {
    alive.delete(child);
    end = why;
    return why;
  });
  return {
    pid: child.pid ?? 0,
    ended,
    endedBy: () => end,
    signal: (name) => void child.kill(name),
    nudge: () => void (child.connected && child.send({})),
  };
}
