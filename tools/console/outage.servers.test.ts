import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import type { Browser } from "playwright-core";
import { ServerProcess } from "../../packages/cli/test/testing/server-process.ts";
import { startPostgres, type TestPostgres } from "../services/start-postgres.ts";
import { ConsoleWindow, startBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";
import { ReverseProxy } from "./reverse-proxy.ts";

const KEY = "the-key-of-the-operator";
const NODES = 3;
/** Jobs of the beginning: more than one page of a list. */
const JOBS = 130;
const PAGES = ["overview", "list", "older", "detail"] as const;
type PageName = (typeof PAGES)[number];

/** Pages of the console in a real browser behind a proxy, while the three nodes of a cluster are killed one after the other. */
describe("the console while nodes are killed", () => {
  let postgres: TestPostgres;
  let browser: Browser;
  let proxy: ReverseProxy;
  let client: Client;
  let worker: Worker;
  let windows: Record<PageName, ConsoleWindow>;
  /** Place of the second page of the list, which is not live. */
  let older: string;
  const nodes: ServerProcess[] = [];
  /** Ends of the handlers that run, by their payloads. */
  const ends = new Map<number, () => void>();
  const TASKS = [
    task({ name: "quick", run: () => null }),
    task({ name: "hold", run: (n: number) => new Promise<null>((resolve) => ends.set(n, () => resolve(null))) }),
  ];

  before(async () => {
    buildConsole();
    [postgres, browser] = await Promise.all([startPostgres({ version: 14 }), startBrowser()]);
    const settings = {
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: KEY },
      ...{ MAINSPRING_CLUSTER_SECRET: "the-secret-of-all-nodes", MAINSPRING_STOP_DELAY_SEC: "0" },
      MAINSPRING_BUILTIN_WORKER: "off",
    };
    // The first node creates the tables.
    for (let n = 0; n < NODES; n++) nodes.push(new ServerProcess(settings));
    await nodes[0]?.start();
    await Promise.all(nodes.slice(1).map((node) => node.start()));
    proxy = await ReverseProxy.start(nodes.map(({ httpUrl }) => httpUrl));
    const url = nodes.map(({ grpcAddress }) => grpcAddress).join();
    worker = new Worker({ url, apiKey: KEY, tasks: TASKS, slots: 20, warn: () => undefined });
    await worker.start();
    client = clientOf(0);
    const opened = PAGES.map(async (name) => [name, await ConsoleWindow.open(browser, proxy.url)] as const);
    windows = Object.fromEntries(await Promise.all(opened)) as typeof windows;
  });
  after(async () => {
    await Promise.all(Object.values(windows ?? {}).map((window) => window.close()));
    await browser?.close();
    await worker?.stop({ timeoutMs: 0 });
    await proxy?.stop();
    await Promise.all(nodes.map((node) => node.end("SIGKILL")));
    await postgres?.stop();
  });

  const clientOf = (n: number) => new Client({ url: nodes[n % NODES]?.httpUrl ?? "", apiKey: KEY });
  const all = () => Object.values(windows);
  const cell = (window: ConsoleWindow, id: string, state: string) =>
    window.page
      .locator("main tbody tr", { hasText: id.slice(-12) })
      .getByText(state)
      .waitFor();
  const submit = async (handler: string, payload: number) =>
    (await client.submit({ target: { handler }, payload })).executionId as string;
  const living = async () => (await client.cluster.status()).nodes.filter(({ state }) => state === "LIVING").length;
  const streams = () => nodes.reduce((sum, { httpUrl }) => sum + proxy.streamsOf(httpUrl), 0);

  it("is one of three nodes, whichever the proxy asks, after one login", async () => {
    const { key } = await client.keys.create({ kind: "OPERATOR", name: "console" });
    const jobs = Array.from({ length: JOBS }, () => ({ target: { handler: "quick" } }));
    await client.submitBatch(jobs);
    await until(async () => (await living()) === NODES && (await client.stats()).executions.ready === 0);
    await windows.list.show("executions");
    await windows.list.page.getByLabel("API key").fill(key);
    await windows.list.press("Log in");
    await windows.list.counts("main tbody tr", 100);
    const session = await windows.list.context.cookies();
    for (const window of [windows.overview, windows.older, windows.detail]) await window.context.addCookies(session);
    await windows.overview.show("");
    await windows.overview.counts(".chart canvas", 6);
    await windows.older.show("executions");
    await windows.older.page.getByRole("link", { name: "Next page" }).click();
    await windows.older.counts("main tbody tr", JOBS - 100);
    older = new URL(windows.older.page.url()).hash.slice(2);
    assert.match(older, /cursor=/);
  });

  for (let killed = 0; killed < NODES; killed++) {
    it(`says that node ${killed + 1} is killed, keeps its rows, and goes on with the others by itself`, async () => {
      const node = nodes[killed] as ServerProcess;
      client = clientOf(killed + 1);
      const others = nodes.filter((other) => other !== node).map(({ httpUrl }) => httpUrl);
      proxy.targets = [node.httpUrl];
      const held = await submit("hold", killed);
      await windows.detail.show(`executions/${held}`);
      await windows.detail.page.locator("main .state-running").first().waitFor();
      await until(() => proxy.streamsOf(node.httpUrl) === 1);
      await cell(windows.list, held, "RUNNING");

      await node.end("SIGKILL");
      await until(() => streams() === 0);
      await windows.older.show("workers");
      await windows.older.show(older);
      for (const window of all()) await window.sees("502 Bad Gateway (502)");
      assert.equal(await windows.list.page.locator("main tbody tr").count(), 100);
      assert.equal(await windows.overview.page.locator(".chart canvas").count(), 6);
      await windows.detail.sees(held);

      proxy.targets = others;
      await until(() => others.reduce((sum, url) => sum + proxy.streamsOf(url), 0) === 1);
      for (const window of all()) await window.counts(".failure", 0);
      await windows.older.counts("main tbody tr", JOBS - 100);
      const late = await submit("quick", 0);
      await cell(windows.list, late, "SUCCEEDED");
      ends.get(killed)?.();
      await windows.detail.page.locator("main .state-succeeded").first().waitFor();
      await cell(windows.list, held, "SUCCEEDED");

      await node.start();
      proxy.targets = nodes.map(({ httpUrl }) => httpUrl);
      await until(async () => (await living()) === NODES);
      for (const window of all()) window.checkFaults();
    });
  }

  it("has lost no row, and asked for no other login", async () => {
    const expected: string[] = [];
    for await (const { executionId } of client.listExecutions()) expected.push(`…${executionId.slice(-12)}`);
    assert.equal(expected.length, JOBS + 2 * NODES);
    const shown = (window: ConsoleWindow) => window.page.locator("main tbody tr td:first-child").allInnerTexts();
    assert.deepEqual(await shown(windows.list), expected.slice(0, 100));
    assert.deepEqual(await shown(windows.older), expected.slice(100 + 2 * NODES));
    for (const window of all()) assert.equal(await window.page.getByLabel("API key").count(), 0);
  });

  it("opens by itself when no server answered as the page was loaded", async () => {
    const { page } = windows.overview;
    await page.route("**/v1/me", (route) => route.abort());
    await page.reload();
    await windows.overview.sees("The server does not answer");
    await page.unroute("**/v1/me");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    windows.overview.checkFaults();
  });
});
