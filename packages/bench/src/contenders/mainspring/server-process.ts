import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { leash } from "../../services/leash.ts";
import type { Question } from "./server-teller.ts";

/** A server as users run it, in a process of its own, without its built-in worker. */
export interface ServerProcess extends AsyncDisposable {
  readonly httpUrl: string;
  readonly pid: number;
  /** Memory that its objects use after a collection, in MiB. @throws the process does not tell */
  usedMiB(): Promise<number>;
  /** Measures blocks of the event loop until `heldMs`. @throws the process does not tell */
  watchLoop(): void;
  /** Longest block of the event loop since `watchLoop`, in milliseconds of CPU time. @throws the process does not tell */
  heldMs(): Promise<number>;
}

const STOPPED_WITHIN_MS = 30_000;
const TELLER = new URL("./server-teller.ts", import.meta.url).href;

interface ServerOptions {
  /** Configuration in addition to free addresses and a data folder. */
  env: Record<string, string>;
  /** Whether the process tells its memory after a collection, and blocks of its event loop. */
  hasTeller?: boolean | undefined;
}

/** @param command file of the program `mainspring` */
export async function startServer(command: string, { env, hasTeller = false }: ServerOptions): Promise<ServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), "bench-mainspring-"));
  const teller = hasTeller ? ["--expose-gc", `--import=${TELLER}`] : [];
  const child = spawn(process.execPath, [...teller, command, "serve"], {
    stdio: ["ignore", "pipe", "inherit", ...(hasTeller ? (["ipc"] as const) : [])],
    env: { ...process.env, ...serverEnv(folder), ...env },
  });
  leash(child, folder);
  const say = (question: Question) => {
    if (!hasTeller) throw new Error("the server was not started to tell about itself");
    child.send(question);
  };
  const ask = async (question: Question) => {
    say(question);
    return ((await once(child, "message")) as [number])[0];
  };
  return {
    httpUrl: await announcedUrl(child),
    pid: child.pid ?? 0,
    usedMiB: () => ask("COLLECT"),
    watchLoop: () => say("WATCH"),
    heldMs: () => ask("HELD"),
    [Symbol.asyncDispose]: async () => {
      await stop(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Configuration with free addresses, a folder of its own, and no built-in worker. */
export function serverEnv(folder: string): Record<string, string> {
  return {
    MAINSPRING_HTTP: "127.0.0.1:0",
    MAINSPRING_GRPC: "127.0.0.1:0",
    MAINSPRING_DATA_DIR: folder,
    MAINSPRING_BUILTIN_WORKER: "off",
    MAINSPRING_LOG_LEVEL: "warn",
  };
}

async function announcedUrl(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("no output to read");
  for await (const line of createInterface(child.stdout)) {
    const url = /http:\/\/[\d.]+:\d+/.exec(line)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error("the server ended without an address");
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const limit = setTimeout(() => child.kill("SIGKILL"), STOPPED_WITHIN_MS);
  child.kill("SIGTERM");
  await once(child, "exit");
  clearTimeout(limit);
}
