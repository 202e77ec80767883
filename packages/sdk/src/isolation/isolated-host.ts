import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { MessageChannel, Worker as Thread } from "node:worker_threads";
import { type FromIsolated, isFromIsolated, type ToIsolated } from "./isolation-messages.ts";

/** The process or thread of one attempt. */
export interface IsolatedHost {
  send(message: ToIsolated): void;
  /** At once, whatever it does. `exited` follows. */
  kill(): void;
}

export interface HostEvents {
  message(message: FromIsolated): void;
  /** It is gone, by itself or killed; called once. @param how for people */
  exited(how: string): void;
}

// From source it is TypeScript too; what is published has both as JavaScript.
const ENTRY = new URL(
  import.meta.url.endsWith(".ts") ? "./isolated-process.ts" : "./isolated-process.js",
  import.meta.url,
);
/** Their processes have groups of their own where there are such: a signal from the terminal is the worker's affair. */
const HAS_GROUPS = process.platform !== "win32";
/** A worker that ends while they run takes them with it, unless it is killed itself. */
const living = new Set<ChildProcess>();

export function openThread(events: HostEvents): IsolatedHost {
  // None of the program's flags: `--input-type` would keep the thread from starting, preloads would run twice.
  const thread = new Thread(ENTRY, { name: "mainspring handler", execArgv: [] });
  // Its own port closes before it is gone. Until then whoever asks what this process has under way must see something:
  // the clock of a simulated test would go on else.
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
    // Processes that the handler started would otherwise run on, known to nobody.
    killGroup(child);
    events.exited(how);
  };
  child.on("message", (message) => hear(message, events));
  child.on("exit", (code, signal) => end(signal ?? `exit code ${code}`));
  // It could not be started, or not be written to: then its exit is told apart.
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
    // It has ended, and left nothing behind.
  }
}
