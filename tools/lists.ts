import { readFile } from "node:fs/promises";
import pg from "pg";
import { openSqlStore, type SqlStore, systemRuntime } from "../packages/server/src/testing.ts";
import { ANSWER_LIMIT_MS, LISTS, type Measured, type NamedList } from "./lists/asked.ts";
import { fill, SCENES } from "./lists/scenes.ts";
import { startPostgres } from "./services/start-postgres.ts";

/**
 * Measures what each list costs PostgreSQL: `lists.ts [ROWS]`, by default with a million jobs and executions. Each list
 * runs with and without hits, over empty months and a full one, with misleading statistics. Fails if one page exceeds
 * its limit.
 */

const rows = Number(process.argv[2] ?? 1_000_000);
const REPEATS = 5;
const silent = Object.fromEntries(["debug", "info", "warn", "error"].map((level) => [level, () => {}])) as never;
const runtime = systemRuntime();
let isOver = false;

for (const scene of SCENES) {
  const postgres = await startPostgres({ version: "system" });
  const store = await openSqlStore({
    ...{ connection: postgres.connection, incarnation: runtime.uuid(), runtime, log: silent, isShared: false },
  });
  const client = new pg.Client(postgres.connection);
  await client.connect();
  await fill(client, scene, rows);
  console.log(`\n## ${scene.name}\n`);
  console.log("| list | hits | pages | of the store's CPU for a page, ms |\n| --- | ---: | ---: | ---: |");
  for (const list of LISTS) {
    const { hits, pages, pageMs } = await measure(store, client, list);
    isOver ||= pageMs > ANSWER_LIMIT_MS;
    console.log(
      `| ${list.name} | ${hits} | ${pages} | ${pageMs.toFixed(1)}${pageMs > ANSWER_LIMIT_MS ? " (too much)" : ""} |`,
    );
  }
  await client.end();
  await store.close();
  await postgres.stop();
}
if (isOver) process.exitCode = 1;

/** Reads pages of a list until one is full or there is no more, and returns the most expensive page. */
async function measure(store: SqlStore, client: pg.Client, { ask }: NamedList): Promise<Measured> {
  let [hits, pages, pageMs] = [0, 0, 0];
  for (let after: string | null = null; hits < 50 && pages < 200; ) {
    const page = { after, limit: 50 };
    const answer = await ask(store.queries, page);
    const repeats = pages < 3 ? REPEATS : 1;
    const beforeMs = await cpuMs(client);
    for (let turn = 0; turn < repeats; turn++) await ask(store.queries, page);
    const spentMs = ((await cpuMs(client)) - beforeMs) / repeats;
    // A tick of the kernel's clock is 10 ms, so the cost of a single request is too coarse to judge.
    if (repeats > 1) pageMs = Math.max(pageMs, spentMs);
    hits += answer.items.length;
    pages++;
    if (answer.next === null) break;
    after = answer.next;
  }
  return { hits, pages, pageMs };
}

/** CPU time of all connections that read lists. */
async function cpuMs(client: pg.Client): Promise<number> {
  const text = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'mainspring/%/list'";
  const { rows: found } = await client.query<{ pid: number }>(text);
  const stats = await Promise.all(found.map(({ pid }) => readFile(`/proc/${pid}/stat`, "utf8")));
  const ticks = stats.map((stat) => stat.slice(stat.lastIndexOf(")")).split(" "));
  return 10 * ticks.reduce((sum, fields) => sum + Number(fields[12]) + Number(fields[13]), 0);
}
