import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";

const STOP_WITHIN_MS = 30_000;

/** A child process of the demo. */
export class Child {
  readonly pid: number;
  readonly #child: ChildProcess;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  #output = "";

  /** @param env variables in addition to the present environment, without the settings of the user's own server */
  constructor(args: readonly string[], env: Record<string, string>) {
    this.#child = spawn(process.execPath, args, { env: { ...foreign(), ...env }, stdio: ["ignore", "pipe", "pipe"] });
    this.pid = this.#child.pid ?? -1;
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
    this.ended = new Promise((resolve) => this.#child.on("error", () => resolve()).on("close", () => resolve()));
  }

  /** Waits until the output matches. @throws the process ends before that */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (let ended = false; ; ) {
      const match = pattern.exec(this.#output);
      if (match !== null) return match;
      if (ended) throw new Error(`${this.#child.spawnargs.slice(1).join(" ")} has ended:\n${this.#output}`);
      const more = new Promise<boolean>((resolve) => this.#child.stdout?.once("data", () => resolve(false)));
      ended = await Promise.race([more, this.ended.then(() => true)]);
    }
  }

  /** Lets the process finish, and kills it if that takes too long. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const late = pause(STOP_WITHIN_MS, true, { ref: false });
    if (await Promise.race([late, this.ended.then(() => false)])) this.#child.kill("SIGKILL");
    await this.ended;
  }
}

function foreign(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("MAINSPRING_")));
}
