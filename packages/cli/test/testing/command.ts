import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../../bin/mainspring.mjs", import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  /** Standard input; default: none. */
  input?: string;
}

/** Runs `mainspring` in a process of its own until it ends. */
export async function mainspring(args: readonly string[], { env = {}, input = "" }: RunOptions = {}): Promise<Ended> {
  const child = start([COMMAND, ...args], env);
  child.stdin?.end(input);
  const [code, stdout, stderr] = await Promise.all([ended(child), textOf(child.stdout), textOf(child.stderr)]);
  return { code, stdout, stderr };
}

/** Runs `mainspring` for the tests of one server. */
export class Commands {
  readonly #env: () => Record<string, string>;

  /** @param env environment with the server's address; read for each command */
  constructor(env: () => Record<string, string>) {
    this.#env = env;
  }

  readonly run = (args: readonly string[], input = ""): Promise<Ended> => mainspring(args, { env: this.#env(), input });

  /** Output of a command that must succeed. */
  readonly done = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await this.run(args);
    assert.deepEqual([code, stderr], [0, ""], args.join(" "));
    return stdout;
  };

  readonly json = async <T>(...args: string[]): Promise<T> => JSON.parse(await this.done(...args, "--json")) as T;

  /** Lists are printed as JSON lines. */
  readonly jsonLines = async <T>(...args: string[]): Promise<T[]> => linesOf<T>(await this.done(...args, "--json"));
}

export function linesOf<T>(text: string): T[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

/** A process that runs until it is told to end. */
export class LongCommand {
  readonly done: Promise<Ended>;
  readonly #child: ChildProcess;
  #stdout = "";
  #stderr = "";

  /** @param program program to run; default: the command */
  constructor(args: readonly string[], env: Record<string, string>, program = COMMAND) {
    this.#child = start([program, ...args], env);
    this.#child.stdout?.on("data", (chunk: Buffer) => (this.#stdout += chunk.toString()));
    this.#child.stderr?.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
    this.done = ended(this.#child).then((code) => ({ code, stdout: this.#stdout, stderr: this.#stderr }));
  }

  /** Waits until the output matches. @throws the process ends before that */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.#stdout);
      if (match !== null) return match;
      const more = new Promise((resolve) => this.#child.stdout?.once("data", resolve));
      const end = await Promise.race([more.then(() => null), this.done]);
      if (end !== null) throw new Error(`ended with ${end.code} and without ${pattern}: ${end.stdout}${end.stderr}`);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}

/** Runs a TypeScript file with this environment. */
export async function runFile(file: string, env: Record<string, string>): Promise<Ended> {
  const child = start([file], env);
  const [code, stdout, stderr] = await Promise.all([ended(child), textOf(child.stdout), textOf(child.stderr)]);
  return { code, stdout, stderr };
}

function start(args: readonly string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, args, { env: { ...inherited(), ...env }, stdio: ["pipe", "pipe", "pipe"] });
}

/** Environment without settings of the tester's own server, which must not reach the server under test. */
function inherited(): NodeJS.ProcessEnv {
  const isTheirs = (name: string) => /^(MAINSPRING_|NODE_)/.test(name) && name !== "NODE_COMPILE_CACHE";
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isTheirs(name)));
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => child.on("error", reject).on("close", (code) => resolve(code)));
}

function textOf(stream: ChildProcess["stdout"]): Promise<string> {
  return stream === null ? Promise.resolve("") : text(stream);
}
