import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Client } from "@mainspring/sdk";
import { Board } from "./demo/board.ts";
import { Child } from "./demo/child.ts";
import { countUnmet, reportText } from "./demo/report.ts";
import { Shop } from "./demo/shop.ts";
import type { Account, Stage } from "./demo/stage.ts";
import { STORIES_OF_LOAD } from "./demo/stories-of-load.ts";
import { STORIES_OF_PEOPLE } from "./demo/stories-of-people.ts";

/**
 * `npm run demo`: a server with a store of its own in a folder that is removed afterwards, a worker process, a mixed load, and
 * what became of it. Ends with 1 where anything is not as it should be.
 *
 * `--url http://… --grpc host:port,host:port` gives the load to servers that run. They must have no jobs yet, and allow the
 * handler `http` to call this machine.
 */

const STORIES = [...STORIES_OF_LOAD, ...STORIES_OF_PEOPLE];
/** Number of stories that submit their jobs before the worker starts. */
const BEFORE_THE_WORKER = 3;
const PATIENCE_MS = 120_000;

const { values: given } = parseArgs({ options: { url: { type: "string" }, grpc: { type: "string" } } });
const MAINSPRING = fileURLToPath(new URL("../packages/cli/bin/mainspring.mjs", import.meta.url));
const WORKER = fileURLToPath(new URL("./demo/worker.ts", import.meta.url));
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => interrupted.abort(new Error(`the demo was stopped by ${signal}`)));
const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(PATIENCE_MS)]);

const dataDir = await mkdtemp(join(tmpdir(), "mainspring-demo-"));
const shop = new Shop();
const children: Child[] = [];
try {
  const begunMs = performance.now();
  const accounts = await play();
  const unmet = countUnmet(accounts);
  const verdict = unmet === 0 ? "All is as it should be" : `${unmet} things are NOT as they should be`;
  console.log(
    `\n${reportText(accounts)}\n\n${verdict}, after ${((performance.now() - begunMs) / 1_000).toFixed(1)} s.`,
  );
  if (unmet > 0) process.exitCode = 1;
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  // The worker stops first, because without a server it would only try to connect.
  for (const child of children.reverse()) await child.stop();
  shop.stop();
  await rm(dataDir, { recursive: true, force: true });
}

async function play(): Promise<Map<string, Account>> {
  const shopUrl = await shop.start();
  const { httpUrl, grpcAddress } = await findServer();
  console.log(`It serves on ${httpUrl}; what it is given to do:\n`);
  // An empty key means no key, even if the environment has one for another server.
  const client = new Client({ url: httpUrl, apiKey: "" });
  const board = new Board(client, process.stdout, signal);
  const workerPid = Promise.withResolvers<number>();
  const ready = new Set<string>();
  const stage: Stage = {
    ...{ client, board, shop, shopUrl, signal },
    workerPid: workerPid.promise,
    ready: (story) => {
      if (ready.add(story).size === BEFORE_THE_WORKER) startWorker(grpcAddress).then(workerPid.resolve, fail);
    },
  };
  const end = new AbortController();
  const watching = board.watch(end.signal).catch(fail);
  try {
    return await Promise.race([playAll(stage), failed()]);
  } finally {
    end.abort();
    await watching;
  }
}

async function playAll(stage: Stage): Promise<Map<string, Account>> {
  const accounts = await Promise.all(STORIES.map(async (story) => [story.name, await story.play(stage)] as const));
  return new Map(accounts);
}

interface Addresses {
  httpUrl: string;
  grpcAddress: string;
}

async function findServer(): Promise<Addresses> {
  const { url: httpUrl, grpc: grpcAddress } = given;
  if (httpUrl !== undefined && grpcAddress !== undefined) return { httpUrl, grpcAddress };
  console.log("Starting a server, with a PostgreSQL of its own …");
  return await startServer();
}

async function startServer(): Promise<Addresses> {
  const server = new Child([MAINSPRING, "serve"], {
    MAINSPRING_HTTP: "127.0.0.1:0",
    MAINSPRING_GRPC: "127.0.0.1:0",
    MAINSPRING_DATA_DIR: dataDir,
    MAINSPRING_LOG_LEVEL: "warn",
    // The shop is on this machine, which the handler `http` calls only if it is allowed to.
    MAINSPRING_HTTP_ALLOW_PRIVATE: "127.0.0.0/8",
  });
  children.push(server);
  const said = server.says(/api +(http:\S+)[^]*workers +(\d\S+)[^]*curl/);
  const [, httpUrl = "", grpcAddress = ""] = await Promise.race([said, failed()]);
  return { httpUrl, grpcAddress };
}

async function startWorker(grpcAddress: string): Promise<number> {
  const worker = new Child([WORKER], { MAINSPRING_GRPC_URL: grpcAddress });
  children.push(worker);
  await worker.says(/connected/);
  return worker.pid;
}

/** Ends all waits with an error. */
function fail(error: unknown): void {
  interrupted.abort(error);
}

/** Never resolves; rejects once the demo is interrupted or takes too long. */
function failed(): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
