import type { ChildProcess } from "node:child_process";
import { text } from "node:stream/consumers";
import type { Ended } from "../pack/empty-project.ts";

/** A command that runs beside others, with all its child processes. */
export class Terminal {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ended>;

  /** @param child leader of a process group */
  constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = endOf(child);
  }

  /** Sends Ctrl-C to the process group. @returns end of the command; code null: it had not ended by itself */
  async close(): Promise<Ended> {
    const wasRunning = this.#child.exitCode === null && this.#child.signalCode === null;
    if (wasRunning && this.#child.pid !== undefined) process.kill(-this.#child.pid, "SIGTERM");
    const ended = await this.#ended;
    return wasRunning ? { ...ended, code: null } : ended;
  }
}

async function endOf(child: ChildProcess): Promise<Ended> {
  const closed = new Promise<void>((resolve, reject) => child.on("error", reject).on("close", () => resolve()));
  const [stdout, stderr] = await Promise.all([printed(child.stdout), printed(child.stderr), closed]);
  return { code: child.exitCode, stdout, stderr };
}

async function printed(stream: ChildProcess["stdout"]): Promise<string> {
  return stream === null ? "" : text(stream);
}
