import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { MessageChannel, Worker as Thread } from "node:worker_threads";
import { type FromIsolated, isFromIsolated, type ToIsolated } from "./isolation-messages.ts";

/** The process or thread of one attempt. */
export interface IsolatedHost {
  send(message: ToIsolated): void;
  /** Kills the process or thread at once, whatever it does. A call of `exited` follows. */
  kill(): void;
}

export interface HostEvents {
  message(message: FromIsolated): void;
  /** Called once when the process or thread has ended, by itself or killed. @param how description for people */
  exited(how: string): void;
}

// The source tree has this file as TypeScript, the published package as JavaScript.
const ENTRY = new URL(
  import.meta.url.endsWith(".ts") ? "./isolated-process.ts" : "./isolated-process.js",
  import.meta.url,
);
/**
 * Whether child processes get a process group of their own, so that a signal from the terminal reaches only the worker.
 */
const HAS_GROUPS = process.platform !== "win32";
/** Child processes that run. A worker that exits kills them, unless the worker itself is killed. */
const living = new Set<ChildProcess>();

export function openThread(events: HostEvents): IsolatedHost {
  // The thread gets none of the program's flags: `--input-type` would keep the thread from starting, and preloads would
  // run twice.
  const thread = new Thread(ENTRY, { name: "mainspring handler", execArgv: [] });
  // The thread's own port closes before the thread is gone. This open port shows until then that the process still has
  // work; otherwise the clock of a simulated test would move on too early.
  const { port1: presence } = new MessageChannel();
  presence.ref();
  let error: Error | null = null;
  thread.on("message", (message) => hear(message, events));
  thread.on("error", (thrown) => {
    error = thrown instanceof Error ? thrown : new Error(String(thrown));
  });
  thread.on("exit", (code) => {
    presence.close();
    events.exited(error?.message ?? `exit code ${code}`);
  });
  return { send: thread.postMessage.bind(thread), kill: () => void thread.terminate() };
}

export function openProcess(events: HostEvents): IsolatedHost {
  const child = fork(fileURLToPath(ENTRY), {
    execArgv: [],
    detached: HAS_GROUPS,
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  if (living.size === 0) process.on("exit", killAll);
  living.add(child);
  const end = (how: string) => {
    if (!living.delete(child)) return;
    if (living.size === 0) process.off("exit", killAll);
    // Processes that the handler started would otherwise run on without a parent.
    killGroup(child);
    events.exited(how);
  };
  child.on("message", (message) => hear(message, events));
  child.on("exit", (code, signal) => end(signal ?? `exit code ${code}`));
  // The process could not be started, or not be written to; in the second case the exit event follows.
  child.on("error", (error) => child.pid === undefined && end(error.message));
  return { send: (message) => void child.send(message, () => undefined), kill: () => killGroup(child) };
}

function hear(message: unknown, events: HostEvents): void {
  if (isFromIsolated(message)) events.message(message);
}

function killAll(): void {
  for (const child of living) killGroup(child);
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    if (HAS_GROUPS) process.kill(-child.pid, "SIGKILL");
    else child.kill("SIGKILL");
  } catch {
    // The process group is gone already.
  }
}
