import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Server extends AsyncDisposable {
  httpUrl: string;
  grpcAddress: string;
}

const COMMAND = fileURLToPath(new URL("../../cli/bin/mainspring.mjs", import.meta.url));

/** The server as users run it, in a process of its own, without its built-in worker. */
export async function startServer(store?: string): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), "mainspring-bench-"));
  const child = spawn(process.execPath, [COMMAND, "serve"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      MAINSPRING_HTTP: "127.0.0.1:0",
      MAINSPRING_GRPC: "127.0.0.1:0",
      MAINSPRING_DATA_DIR: folder,
      MAINSPRING_BUILTIN_WORKER: "off",
      MAINSPRING_LOG_LEVEL: "warn",
      ...(store !== undefined && { MAINSPRING_STORE: store }),
    },
  });
  const httpUrl = await announcedUrl(child);
  const stats = (await (await fetch(`${httpUrl}/v1/stats`)).json()) as { addresses: { grpc: string } };
  return {
    httpUrl,
    grpcAddress: stats.addresses.grpc,
    [Symbol.asyncDispose]: async () => {
      await stop(child);
      await rm(folder, { recursive: true, force: true });
    },
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

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
