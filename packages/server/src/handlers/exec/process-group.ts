import { type ChildProcess, spawn } from "node:child_process";
import type { Runtime } from "../../ports/runtime.ts";
import type { ExecPayload } from "./exec-payload.ts";
import { KeptTail } from "./kept-tail.ts";

export interface ProcessEnd {
  /** null: a signal ended it. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** It was told to stop, or killed, while it ran. */
  wasStopped: boolean;
  stdout: KeptTail;
  stderr: KeptTail;
}

/** Limit for each output. Twice that, each byte as JSON's longest escape, is within what a result may be. */
const OUTPUT_MAX_BYTES = 64 * 1024;
/** Output that was written is read in no time. A descendant that left the group may hold the pipe open for ever. */
const DRAIN_MS = 1_000;

/** Groups whose leader lives. A process that ends while they run takes them with it, unless it is killed itself. */
const living = new Set<number>();

/** A program as the leader of a process group of its own, so that what it starts can be stopped with it. */
export class ProcessGroup {
  /** Rejected where it could not be started; else settles when the leader has ended and nothing of the group is left. */
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  readonly #runtime: Runtime;
  #wasStopped = false;

  constructor({ argv, env, cwd, stdin }: ExecPayload, runtime: Runtime) {
    const [program = "", ...rest] = argv;
    this.#runtime = runtime;
    this.#child = spawn(program, rest, {
      env: env ?? {},
      cwd: cwd ?? "/",
      detached: true,
      stdio: "pipe",
      shell: false,
    });
    this.ended = this.#follow();
    // A program need not read what it is given.
    this.#child.stdin?.on("error", () => undefined).end(stdin ?? "");
  }

  /** Nothing happens where it has ended. */
  stop(signal: "SIGTERM" | "SIGKILL"): void {
    const { pid } = this.#child;
    if (pid === undefined || !living.has(pid)) return;
    this.#wasStopped = true;
    signalGroup(pid, signal);
  }

  #follow(): Promise<ProcessEnd> {
    const child = this.#child;
    const stdout = new KeptTail(OUTPUT_MAX_BYTES);
    const stderr = new KeptTail(OUTPUT_MAX_BYTES);
    child.stdout?.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
    if (child.pid !== undefined) watch(child.pid);
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.once("exit", () => this.#sweep());
      child.once("close", (exitCode, signal) =>
        resolve({ exitCode, signal, wasStopped: this.#wasStopped, stdout, stderr }),
      );
    });
  }

  /** The leader has ended: what it left behind would run on without anybody who knows of it. */
  #sweep(): void {
    const { pid, stdout, stderr } = this.#child;
    if (pid !== undefined) {
      unwatch(pid);
      signalGroup(pid, "SIGKILL");
    }
    const timer = this.#runtime.setTimer(DRAIN_MS, () => {
      stdout?.destroy();
      stderr?.destroy();
    });
    this.#child.once("close", () => timer.cancel());
  }
}

function watch(pid: number): void {
  if (living.size === 0) process.on("exit", killAll);
  living.add(pid);
}

function unwatch(pid: number): void {
  living.delete(pid);
  if (living.size === 0) process.off("exit", killAll);
}

function killAll(): void {
  for (const pid of living) signalGroup(pid, "SIGKILL");
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // Gone already, or nothing but what runs as somebody else is left of it.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
