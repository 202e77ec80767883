import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";

const STOP_WITHIN_MS = 30_000;

/** A program of the demo's own, until it is told to stop. */
export class Child {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #output = "";

  /** @param env besides what is there already, without the settings of the person's own server */
  constructor(args: readonly string[], env: Record<string, string>) {
    this.#child = spawn(process.execPath, args, { env: { ...foreign(), ...env }, stdio: ["ignore", "pipe", "pipe"] });
    this.pid = this.#child.pid ?? -1;
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#ended = new Promise((resolve) => this.#child.on("error", () => resolve()).on("close", () => resolve()));
  }

  /** Waits until it prints what matches. @throws where it ends before */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (let ended = false; ; ) {
      const match = pattern.exec(this.#output);
      if (match !== null) return match;
      if (ended) throw new Error(`${this.#child.spawnargs.slice(1).join(" ")} has ended:\n${this.#output}`);
      const more = new Promise<boolean>((resolve) => this.#child.stdout?.once("data", () => resolve(false)));
      ended = await Promise.race([more, this.#ended.then(() => true)]);
    }
  }

  /** Lets it finish; ends it where that takes too long. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const late = pause(STOP_WITHIN_MS, true, { ref: false });
    if (await Promise.race([late, this.#ended.then(() => false)])) this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

function foreign(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("MAINSPRING_")));
}
