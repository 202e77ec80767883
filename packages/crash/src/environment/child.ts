import { type ChildProcess, fork, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";

export interface ChildOptions {
  /** File to which standard output and error are appended. */
  logFile: string;
  env?: Record<string, string>;
  /** User of the process; default: the user of this process. */
  user?: { uid: number; gid: number };
}

/** A child process that will be killed. */
export interface Child {
  readonly pid: number;
  /** Resolves with the reason of its end, as `code 1` or `SIGKILL`. */
  readonly ended: Promise<string>;
  /** Reason of its end; null: the process runs. */
  endedBy(): string | null;
  /** Sends a signal; does nothing if the process has ended. */
  signal(name: NodeJS.Signals): void;
  /** Sends an empty message to a forked process. */
  nudge(): void;
}

const alive = new Set<ChildProcess>();
// No child outlives this process. A stopped child must be killed, because it would not react to another signal.
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

/** Starts Node with the arguments. */
export function startNode(args: readonly string[], options: ChildOptions): Child {
  return watched(options, (stdio, env) => spawn(process.execPath, [...args], { stdio: ["ignore", ...stdio], env }));
}

export function startProgram(file: string, args: readonly string[], options: ChildOptions): Child {
  const { user } = options;
  return watched(options, (stdio, env) =>
    spawn(file, [...args], { stdio: ["ignore", ...stdio], env, cwd: "/", ...user }),
  );
}

/** Like `startNode`, with a channel that shows the child when this process is gone. */
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
