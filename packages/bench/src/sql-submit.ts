import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { task, Worker } from "@mainspring/sdk";
import pg from "pg";
import { startPostgres } from "../../../tools/services/start-postgres.ts";

const WARM_UP = 100;
const SINGLES = 500;
const PAUSE_MS = 20;
const BATCHES = 10;
const BATCH_JOBS = 10_000;
const IDLE_MS = 20_000;
const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;

/** Measures submits in transactions of an application: from the commit to the start of the handler, and jobs a second in batches. */
export async function sqlSubmitTimes(): Promise<void> {
  const postgres = await startPostgres({ version: 15 });
  const { server, grpc } = await serve(postgres.url);
  const starts: Starts = new Map();
  const mark = task({ name: "mark", run: (n: number) => void starts.get(n)?.(performance.now()) });
  const worker = new Worker({ url: grpc, slots: 1_000, tasks: [mark], warn: () => undefined });
  await worker.start();
  const app = new pg.Client(postgres.connection);
  await app.connect();
  try {
    await singles(app, starts, WARM_UP);
    console.log("commit to start of the handler, ms:", quantiles(await singles(app, starts, SINGLES)));
    for (let i = 0; i < BATCHES; i++) console.log(`batch ${i + 1}:`, await batch(app));
    console.log(`transactions/s while idle: ${(await idle(app)).toFixed(2)}`);
  } finally {
    await app.end();
    await worker.stop();
    server.kill();
    await once(server, "exit");
    await postgres.stop();
  }
}

type Starts = Map<number, (atMs: number) => void>;

/** @returns time from each commit to the start of its job, in milliseconds */
async function singles(app: pg.Client, starts: Starts, count: number): Promise<number[]> {
  const waits: number[] = [];
  for (let n = 0; n < count; n++) {
    const started = new Promise<number>((resolve) => starts.set(n, resolve));
    await app.query("BEGIN");
    await app.query("SELECT mainspring.mainspring_submit($1)", [jobText(n)]);
    const beganMs = performance.now();
    await app.query("COMMIT");
    waits.push((await started) - beganMs);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return waits.sort((a, b) => a - b);
}

/** @returns jobs a second of the statement and its commit, and until all are taken in */
async function batch(app: pg.Client) {
  const jobs = `[${Array.from({ length: BATCH_JOBS }, () => jobText(-1)).join(",")}]`;
  const beganMs = performance.now();
  await app.query("SELECT mainspring.mainspring_submit_batch($1)", [jobs]);
  const committedMs = performance.now();
  while ((await app.query("SELECT FROM mainspring.job_requests WHERE state = 0 LIMIT 1")).rows.length > 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  const rate = (endMs: number) => Math.round(BATCH_JOBS / ((endMs - beganMs) / 1_000));
  return { committedPerSec: rate(committedMs), takenInPerSec: rate(performance.now()) };
}

/** @returns transactions of the database a second, of which the questions here are left out */
async function idle(app: pg.Client): Promise<number> {
  const read = async () => {
    const { rows } = await app.query(
      "SELECT xact_commit::int8 AS n FROM pg_stat_database WHERE datname = current_database()",
    );
    return Number(rows[0].n);
  };
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const before = await read();
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  return ((await read()) - before - 1) / (IDLE_MS / 1_000);
}

function jobText(n: number): string {
  return JSON.stringify({ target: { handler: "mark" }, payload: n });
}

function quantiles(sorted: readonly number[]) {
  const at = (share: number) => Number((sorted[Math.floor(share * sorted.length)] ?? 0).toFixed(1));
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}

async function serve(store: string): Promise<{ server: ChildProcess; grpc: string }> {
  const free = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_STORE: store };
  const server = spawn(process.execPath, [PROGRAM, "serve"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...free },
  });
  let text = "";
  for await (const chunk of server.stdout.setEncoding("utf8")) {
    text += String(chunk);
    const [, grpc] = /workers +(127\.0\.0\.1:\d+)/.exec(text) ?? [];
    if (grpc === undefined) continue;
    server.stdout.resume();
    return { server, grpc };
  }
  throw new Error("the server ended before it listened");
}
