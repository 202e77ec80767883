import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Ended, LongCommand, mainspring } from "../../packages/cli/test/testing/command.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const WORKER = join(ROOT, "examples/workflows/worker.ts");

/** Expectation of a check, and what the check saw in place of it. */
export interface Finding {
  what: string;
  saw: string;
  isRight: boolean;
}

/** Check of a site, of which each list of checks has its own kind. */
export interface CheckOf<S> {
  /** Number in the list of checks, and what the check does. */
  name: string;
  run(site: S): Promise<Finding[]>;
}

export type Check = CheckOf<Site>;

/** Runs checks in the order of their numbers, and prints what they saw. The process ends with 1 if anything is not as it should be. */
export async function judge<S>(checks: readonly CheckOf<S>[], site: S): Promise<void> {
  let wrong = 0;
  for (const { name, run } of checks.toSorted((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }))) {
    console.log(name);
    for (const { what, saw, isRight } of await run(site)) {
      if (!isRight) wrong++;
      console.log(`   ${isRight ? "ok " : "NOT"}  ${what}: ${saw}`);
    }
  }
  console.log(wrong === 0 ? "All is as it should be." : `${wrong} things are NOT as they should be.`);
  if (wrong > 0) process.exitCode = 1;
}

/** Start of a handler, as the example worker has written it down. */
interface Start {
  handler: string;
  executionId: string;
  attempt: number;
}

/** A server and a worker of the examples, as a stranger reaches them. */
export class Site {
  readonly url: string;
  /** Folder for the files of checks. */
  readonly folder: string;
  readonly #env: Record<string, string>;
  readonly #starts: string;

  /** @param env addresses of the server for the command and the worker */
  constructor(url: string, env: Record<string, string>, folder: string, name = "starts") {
    this.url = url;
    this.folder = folder;
    this.#env = env;
    this.#starts = join(folder, name);
  }

  /** Starts the worker of the examples. */
  startWorker(): LongCommand {
    return new LongCommand([], { ...this.#env, STARTS: this.#starts }, WORKER);
  }

  /** Runs `mainspring` as a user does in a clone of the repository. */
  mainspring(...args: string[]): Promise<Ended> {
    return mainspring(
      args.map((arg) => (arg.startsWith("examples/") ? join(ROOT, arg) : arg)),
      { env: this.#env },
    );
  }

  /** Output of a command with `--json`, whatever its exit code. @throws {Error} the command printed no JSON */
  async json<T>(...args: string[]): Promise<T & { code: number | null }> {
    const { code, stdout, stderr } = await this.mainspring(...args, "--json");
    try {
      return { ...(JSON.parse(stdout) as T), code };
    } catch {
      throw new Error(`mainspring ${args.join(" ")} ended with ${code}: ${stderr}${stdout}`);
    }
  }

  async get<T>(path: string): Promise<T> {
    return (await (await fetch(this.url + path)).json()) as T;
  }

  async post<T>(path: string, body: unknown): Promise<T & { status: number }> {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(this.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return { ...((await answer.json()) as T), status: answer.status };
  }

  /** Starts of handlers so far, in their order. @param ids executions; default: all */
  async starts(ids?: readonly (string | null)[]): Promise<Start[]> {
    const lines = (await readFile(this.#starts, "utf8").catch(() => "")).split("\n").slice(0, -1);
    const all = lines.map((line): Start => {
      const [handler = "", executionId = "", attempt] = line.split(" ");
      return { handler, executionId, attempt: Number(attempt) };
    });
    return ids === undefined ? all : all.filter(({ executionId }) => ids.includes(executionId));
  }
}

const LOOKS_EVERY_MS = 50;
const LOOKS_FOR_MS = 120_000;

/** Reads until the answer is as it should be, or until that takes too long. @returns last answer */
export async function eventually<T>(read: () => Promise<T>, isRight: (answer: T) => boolean): Promise<T> {
  for (const endMs = performance.now() + LOOKS_FOR_MS; ; await pause(LOOKS_EVERY_MS)) {
    const answer = await read();
    if (isRight(answer) || performance.now() > endMs) return answer;
  }
}

/** Finding that something equals what it must be, by its JSON. */
export function equal(what: string, saw: unknown, right: unknown): Finding {
  const [text, wanted] = [JSON.stringify(saw), JSON.stringify(right)];
  const isRight = text === wanted;
  return { what, saw: isRight ? text : `${text}, not ${wanted}`, isRight };
}

/** Finding that a text has a part. */
export function has(what: string, text: string, part: RegExp): Finding {
  const line = text.split("\n").find((one) => part.test(one));
  return { what, saw: line?.trim() ?? `no ${part} in: ${text}`, isRight: line !== undefined };
}
