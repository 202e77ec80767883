import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import type { Browser } from "playwright-core";
import { buildConsole } from "../../../../tools/console/build.ts";
import { fill, SCENES } from "../../../../tools/lists/scenes.ts";
import { type ServerProcess, startServer } from "../contenders/mainspring/server-process.ts";
import { commandOf, THIS_TREE } from "../contenders/mainspring/source-tree.ts";
import { commit, describeMachine } from "../machine.ts";
import { Neighbours } from "../meter/neighbours.ts";
import type { Database } from "../services/postgres.ts";
import type { Stage } from "../services/stage.ts";
import { consoleCost } from "./console-cost.ts";
import { CONSOLE_FORMAT, CONSOLE_PAGES, type ConsoleMeasured, type ConsolePage } from "./console-measured.ts";
import { consoleSection } from "./console-section.ts";
import { firstView } from "./first-view.ts";
import { visitList } from "./list-visit.ts";
import { startChromium } from "./visit.ts";

export interface ConsoleScale {
  isQuick: boolean;
  /** Executions in the store before. */
  rows: number;
  consoles: number;
}

const KEY = "the-key-of-the-bench";
/** Visits to the list of executions. */
const VISITS = 5;
const PAGES = Object.keys(CONSOLE_PAGES) as ConsolePage[];

/** Measures the web console in Chromium, and the CPU that open consoles cost the server. @param json file for the figures; null: none */
export async function measureConsole(scale: ConsoleScale, stage: Stage, json: string | null): Promise<void> {
  buildConsole();
  const [at, load, neighbours] = [new Date().toISOString(), loadavg()[0] ?? 0, new Neighbours()];
  const machine = await describeMachine(stage, false);
  const database = await (await stage.postgres()).database();
  const env = { MAINSPRING_STORE: database.url, MAINSPRING_API_KEY: KEY };
  console.log(`${scale.rows.toLocaleString("en")} executions are written into the store`);
  await fillStore(database, scale.rows, env);
  const figures = await withServer(env, (server, browser) => measureParts(scale, { database, server, browser }));
  const measured: ConsoleMeasured = {
    ...{ format: CONSOLE_FORMAT, isQuick: scale.isQuick, machine, at, commit, load },
    ...{ othersPercent: neighbours.percent(), rows: scale.rows, ...figures },
  };
  await database.drop();
  console.log(`\n${consoleSection(measured)}`);
  if (json !== null) await writeFile(json, `${JSON.stringify(measured, null, 2)}\n`);
}

/** A server creates the tables, and is away while they are filled. */
async function fillStore(database: Database, rows: number, env: Record<string, string>): Promise<void> {
  await (await startServer(commandOf(THIS_TREE), { env }))[Symbol.asyncDispose]();
  const [finished] = SCENES;
  if (finished === undefined) throw new Error("there is no scene to fill the store with");
  await fill(database.client, finished, rows, { recurs: false });
  await database.vacuum("FRESH");
}

async function withServer<T>(
  env: Record<string, string>,
  work: (server: ServerProcess, browser: Browser) => Promise<T>,
): Promise<T> {
  await using server = await startServer(commandOf(THIS_TREE), { env });
  const browser = await startChromium();
  try {
    return await work(server, browser);
  } finally {
    await browser.close();
  }
}

interface Parts {
  database: Database;
  server: ServerProcess;
  browser: Browser;
}

async function measureParts(
  { isQuick, consoles }: ConsoleScale,
  { database, server, browser }: Parts,
): Promise<Pick<ConsoleMeasured, "firstViews" | "list" | "costs">> {
  const { httpUrl } = server;
  const firstViews: ConsoleMeasured["firstViews"] = [];
  for (const page of PAGES) {
    console.log(`first view of the ${CONSOLE_PAGES[page].title}`);
    firstViews.push(await firstView(browser, httpUrl, KEY, page));
  }
  console.log("visits to the list of executions");
  const list = await visitList(browser, httpUrl, KEY, isQuick ? 1 : VISITS);
  const times = isQuick
    ? { recordMs: 20_000, lastsMs: 10_000, pairs: 1 }
    : { recordMs: 60_000, lastsMs: 30_000, pairs: 3 };
  const costs: ConsoleMeasured["costs"] = [];
  for (const page of PAGES) {
    console.log(`${consoles} consoles with the ${CONSOLE_PAGES[page].title}`);
    costs.push(await consoleCost(page, { browser, server, storePid: database.pid, key: KEY, consoles, ...times }));
  }
  return { firstViews, list, costs };
}
