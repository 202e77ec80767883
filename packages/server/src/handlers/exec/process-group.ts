import { type ChildProcess, spawn } from "node:child_process";
import type { Runtime } from "../../ports/runtime.ts";
import type { ExecPayload } from "./exec-payload.ts";
import { KeptTail } from "./kept-tail.ts";

export interface ProcessEnd {
  /** Exit code; null: a signal ended the program. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  /** Whether the program was told to stop, or killed, while it ran. */
  wasStopped: boolean;
  stdout: KeptTail;
  stderr: KeptTail;
}

/**
 * Largest kept part of each output, in bytes. Twice that, with each byte as JSON's longest escape, fits into a result.
 */
const OUTPUT_MAX_BYTES = 64 * 1024;
/**
 * Time for reading the rest of the output, in milliseconds. Output that was written is read in no time; a descendant
 * that left the group may hold the pipe open for ever.
 */
const DRAIN_MS = 1_000;

/** Groups whose leader lives. A process that exits kills them, unless the process itself is killed. */
const living = new Set<number>();

/** A program as the leader of its own process group, so that processes that it starts can be stopped with it. */
export class ProcessGroup {
  /**
   * Rejects if the program could not be started; otherwise resolves when the leader has ended and nothing of the group
   * is left.
   */
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
    // A program need not read its input.
    this.#child.stdin?.on("error", () => undefined).end(stdin ?? "");
  }

  /** Sends a signal to the group; does nothing if the program has ended. */
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

  /** Kills the rest of the group after its leader has ended, because these processes would run on unnoticed. */
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
    // The group is gone already, or only processes of another user are left.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ESRCH" && code !== "EPERM") throw error;
  }
}
