import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Client, TerminalError, task, Worker } from "@mainspring/sdk";
import { ServerProcess } from "../packages/cli/test/testing/server-process.ts";
import { DASHBOARDS } from "./grafana/panels.ts";
import { promtool } from "./prometheus/promtool.ts";
import { startPostgres } from "./services/start-postgres.ts";

/**
 * `npm run dashboards`: asks a Prometheus that scrapes two servers under a small load each query of the dashboards, and fails if one is
 * refused or has no answer within a minute, except those that a healthy cluster leaves empty.
 */

const WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 1_000;
/** Interval of the scrapes, and the one of rates in the queries. */
const [SCRAPE, RATE] = ["1s", "15s"];
/** Figures without a series until their event happens. */
const EMPTY: Readonly<Record<string, string>> = {
  mainspring_takeovers_total: "no node lost its shards",
  mainspring_worker_stuck_slots: "no handler is stuck",
};

const tasks = [
  task({ name: "good", run: () => "done" }),
  task({
    name: "slow",
    run: (_: null, ctx) => new Promise((resolve) => ctx.signal.addEventListener("abort", resolve)),
  }),
  task({
    name: "bad",
    run: () => {
      throw new TerminalError("never");
    },
  }),
];

interface Answer {
  status: string;
  error?: string;
  data?: { result: unknown[] };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function startPrometheus(
  targets: readonly string[],
  folder: string,
): Promise<{ url: string; end(): Promise<void> }> {
  // The package of Debian has both programs.
  const program = join(dirname(await promtool()), "prometheus");
  const config = {
    global: { scrape_interval: SCRAPE },
    scrape_configs: [{ job_name: "mainspring", static_configs: [{ targets, labels: { cluster: "test" } }] }],
  };
  await writeFile(join(folder, "prometheus.yml"), JSON.stringify(config));
  const args = [`--config.file=${join(folder, "prometheus.yml")}`, `--storage.tsdb.path=${join(folder, "data")}`];
  const child = spawn(program, [...args, "--web.listen-address=127.0.0.1:0"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  for await (const line of createInterface({ input: child.stderr })) {
    const port = /Listening on.*address=127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port === undefined) continue;
    child.stderr.resume();
    const end = async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    };
    return { url: `http://127.0.0.1:${port}`, end };
  }
  throw new Error("Prometheus did not start");
}

/** Submits some jobs of every kind, and keeps some running. */
async function load(client: Client): Promise<void> {
  const handlers = ["good", "good", "bad", "slow"];
  await client.submitBatch(handlers.map((handler) => ({ target: { handler }, payload: null })));
}

async function emptyQueries(url: string, client: Client): Promise<string[]> {
  const open = new Set(
    DASHBOARDS.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(([expr]) => expr))),
  );
  console.log(`${open.size} queries of ${DASHBOARDS.length} dashboards`);
  const untilMs = performance.now() + WITHIN_MS;
  while (open.size > 0 && performance.now() < untilMs) {
    await load(client);
    await pause(LOOK_EVERY_MS);
    for (const expr of open) {
      const asked = expr.replaceAll("$cluster", ".*").replaceAll("$pool", ".*").replaceAll("$__rate_interval", RATE);
      const answer = (await (await fetch(`${url}/api/v1/query?query=${encodeURIComponent(asked)}`)).json()) as Answer;
      if (answer.status !== "success") throw new Error(`${asked}: ${answer.error}`);
      if ((answer.data?.result.length ?? 0) > 0) open.delete(expr);
    }
  }
  return [...open];
}

// Everything ends in reverse order, also where a part does not start.
await using ends = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "dashboards-"));
ends.defer(() => rm(folder, { recursive: true, force: true }));
const postgres = await startPostgres({ version: 17 });
ends.defer(() => postgres.stop());
const env = {
  ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_STOP_DELAY_SEC: "0" },
  MAINSPRING_EVENTS: "webhook",
};
const servers = [new ServerProcess(env), new ServerProcess(env)];
for (const server of servers) ends.defer(() => server.end("SIGTERM"));
await Promise.all(servers.map((server) => server.start()));
const worker = new Worker({
  url: servers.map(({ grpcAddress }) => grpcAddress).join(","),
  slots: 400,
  tasks,
  warn: () => undefined,
});
ends.defer(() => worker.stop({ timeoutMs: 0 }));
await worker.start();
const client = new Client({ url: servers[0]?.httpUrl ?? "" });
await client.submit({ target: { handler: "good" }, name: "often", everySec: 1 });
await client.submit({ target: { handler: "good", pool: "without-workers" } });
const targets = servers.map(({ httpUrl }) => new URL(httpUrl).host);
const prometheus = await startPrometheus(targets, folder);
ends.defer(() => prometheus.end());
const empty = await emptyQueries(prometheus.url, client);
const wrong = empty.filter((expr) => !Object.keys(EMPTY).some((name) => expr.includes(name)));
for (const expr of empty) console.log(`${wrong.includes(expr) ? "no answer" : "empty, as it has to be"}: ${expr}`);
process.exitCode = wrong.length === 0 ? 0 : 1;
