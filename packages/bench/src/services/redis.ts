import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { until } from "../clock.ts";
import { leash } from "./leash.ts";

const run = promisify(execFile);

/** Time at which Redis syncs its log to disk. */
export type Durability = "everysec" | "always";

/** Redis of this machine with an append-only log, in a folder of its own. */
export class Redis implements AsyncDisposable {
  /** Path of its socket. */
  readonly path: string;
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(folder: string, path: string, child: ChildProcess) {
    this.#folder = folder;
    this.path = path;
    this.#child = child;
  }

  static async start(durability: Durability): Promise<Redis> {
    const program = await redisProgram();
    const folder = await mkdtemp(join(tmpdir(), "bench-redis-"));
    const path = join(folder, "redis.sock");
    const log = ["--appendonly", "yes", "--appendfsync", durability, "--save", ""];
    const child = spawn(program, ["--port", "0", "--unixsocket", path, "--dir", folder, ...log], {
      cwd: folder,
      stdio: "ignore",
    });
    leash(child, folder);
    await until("Redis", 10_000, 50, () => (existsSync(path) ? true : null));
    return new Redis(folder, path, child);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Version of Redis, such as `7.0.15`. */
export async function redisVersion(): Promise<string> {
  const { stdout } = await run(await redisProgram(), ["--version"]);
  return /v=(\S+)/.exec(stdout)?.[1] ?? "";
}

/** Path of Redis; root gets it installed if it is missing. */
async function redisProgram(): Promise<string> {
  const found = programIn(process.env["PATH"] ?? "");
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0)
    throw new Error("this system has no redis-server; as root: apt-get install redis-server");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-qq"], { env });
  await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "redis-server"], { env });
  return "/usr/bin/redis-server";
}

function programIn(path: string): string | undefined {
  return path
    .split(delimiter)
    .map((folder) => join(folder, "redis-server"))
    .find(existsSync);
}
