import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { newAuthority } from "./certificates.ts";
import { installDebianPackage } from "./debian.ts";
import { freePort } from "./free-port.ts";

const run = promisify(execFile);
const PROGRAM = "/usr/bin/redis-server";
const CLIENT = "/usr/bin/redis-cli";
const START_MAX_MS = 180_000;

/** A Redis for tests, on the loopback address, with a new and empty data folder. */
export interface TestRedis {
  /** Address in the form of MAINSPRING_REDIS. */
  readonly url: string;
  readonly port: number;
  /** Process id; 0: it does not run. */
  readonly pid: number;
  /** Path of the certificates of its authority; null: it speaks without TLS. */
  readonly ca: string | null;
  /** Runs a command by redis-cli. @returns its answer as redis-cli prints it. @throws {Error} no answer */
  ask(...command: readonly string[]): Promise<string>;
  /** Kills the server as a power cut would. Saved data stays. */
  kill(): Promise<void>;
  /** Starts a killed server again, at the same port and as the primary or replica that it was. Resolves when it answers. */
  restart(): Promise<void>;
  /** Makes a replica a primary. */
  promote(): Promise<void>;
  /** Makes the server answer at a port that another one has left, instead of its own. */
  moveTo(port: number): Promise<void>;
  /** Makes the server stand still until `resume`. */
  freeze(): void;
  resume(): void;
  /** Ends the server and removes its data. Repeated calls do nothing. */
  stop(): Promise<void>;
}

export interface RedisOptions {
  /** Password of the default user; default: none. */
  password?: string;
  /** Whether clients need TLS; default: no. */
  tls?: boolean;
  /** Port of the server that it replicates; default: none. It has the data of that server when it has started. */
  replicaOf?: number;
  /** Further settings, as ["--cluster-enabled", "yes"]. */
  settings?: readonly string[];
}

/** Servers that run now, so that none stays behind when the process exits without stopping it. */
const running = new Map<string, ChildProcess>();

/** Starts a Redis, which is installed first if this system has none. It ends with this process at the latest. */
export async function startRedis({
  password,
  tls = false,
  replicaOf,
  settings = [],
}: RedisOptions = {}): Promise<TestRedis> {
  if (!existsSync(PROGRAM)) await installDebianPackage("redis-server", "this system has no Redis");
  const folder = await mkdtemp(join(tmpdir(), "redis-"));
  let port = await freePort();
  const files = tls ? await makeCertificates(folder) : null;
  let follows = replicaOf;
  const args = () => [
    ...["--bind", "127.0.0.1", "--dir", folder, "--save", ""],
    ...(files === null ? ["--port", `${port}`] : ["--port", "0", "--tls-port", `${port}`, ...files.settings]),
    ...(password === undefined ? [] : ["--requirepass", password]),
    ...(follows === undefined ? [] : ["--replicaof", "127.0.0.1", `${follows}`]),
    ...settings,
  ];
  const asking = [
    ...(files === null ? [] : ["--tls", "--cacert", files.ca]),
    ...(password === undefined ? [] : ["--no-auth-warning", "-a", password]),
  ];
  const ask = async (...command: readonly string[]) => {
    const at = ["-h", "127.0.0.1", "-p", `${port}`];
    const { stdout } = await run(CLIENT, [...at, ...asking, ...command], { timeout: 5_000 });
    return stdout.trim();
  };
  if (running.size === 0) process.once("exit", killAll);
  const start = () => started(folder, args(), ask);
  await start();
  if (replicaOf !== undefined) await caughtUp(ask);
  const url = () => {
    const login = password === undefined ? "" : `:${password}@`;
    return `${tls ? "rediss" : "redis"}://${login}127.0.0.1:${port}${tls ? `?ca=${files?.ca}` : ""}`;
  };
  return {
    get url() {
      return url();
    },
    get port() {
      return port;
    },
    get pid() {
      return running.get(folder)?.pid ?? 0;
    },
    ...{ ca: files?.ca ?? null, ask },
    kill: () => ended(folder),
    restart: start,
    async promote() {
      await ask("REPLICAOF", "NO", "ONE");
      follows = undefined;
    },
    async moveTo(next) {
      await ask("CONFIG", "SET", "port", `${next}`);
      port = next;
    },
    freeze: () => void running.get(folder)?.kill("SIGSTOP"),
    resume: () => void running.get(folder)?.kill("SIGCONT"),
    async stop() {
      await ended(folder);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** @throws {Error} the server ended, or another server answers at its port */
async function started(folder: string, args: readonly string[], ask: TestRedis["ask"]): Promise<void> {
  const child = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "pipe"] });
  running.set(folder, child);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data) => {
      output = (output + String(data)).slice(-10_000);
    });
  const untilMs = Date.now() + START_MAX_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`Redis ended with exit code ${child.exitCode}:\n${output}`);
    const told = await ask("INFO", "server").catch(() => "");
    const pid = /^process_id:(\d+)/m.exec(told)?.[1];
    if (pid === String(child.pid)) return;
    if (pid !== undefined || Date.now() > untilMs) {
      await ended(folder);
      throw new Error(pid === undefined ? `Redis did not answer:\n${output}` : "another Redis has the port");
    }
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

/** Resolves when a replica has the data of its primary. @throws {Error} it does not get them */
async function caughtUp(ask: TestRedis["ask"]): Promise<void> {
  const untilMs = Date.now() + START_MAX_MS;
  while (!(await ask("INFO", "replication")).includes("master_link_status:up")) {
    if (Date.now() > untilMs) throw new Error("the replica did not get the data of its primary");
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

async function ended(folder: string): Promise<void> {
  const child = running.get(folder);
  if (child === undefined) return;
  if (child.exitCode === null && child.signalCode === null) {
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }
  running.delete(folder);
  if (running.size === 0) process.removeListener("exit", killAll);
}

async function makeCertificates(folder: string): Promise<{ ca: string; settings: readonly string[] }> {
  const authority = await newAuthority(folder, "authority");
  const { certFile, keyFile } = await authority.issue("server", ["IP:127.0.0.1"]);
  const ca = authority.certFile;
  const files = ["--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", ca];
  return { ca, settings: [...files, "--tls-auth-clients", "no"] };
}

function killAll(): void {
  for (const [folder, child] of running) {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
