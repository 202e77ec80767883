import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, TerminalError, task, Worker } from "@mainspring/sdk";
import type { RunningNode } from "@mainspring/server";
import { until } from "@mainspring/server/testing";
import type { Browser } from "playwright-core";
import { ConsoleWindow, startBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";
import { startServer } from "./scene.ts";

const NODES = 1_000;
const ONCE = { retryPolicy: { maxAttempts: 1 } };
const ITEM = { payload: { n: { $index: true } }, ...ONCE } as const;

/** The pages of workflows in a real browser, on a real server. */
describe("the console's pages of workflows", () => {
  let server: { node: RunningNode; stop(): Promise<void> };
  let client: Client;
  let worker: Worker;
  let browser: Browser;
  let window: ConsoleWindow;
  let isBroken = true;
  let failed: string;
  before(async () => {
    buildConsole();
    [server, browser] = await Promise.all([startServer(null), startBrowser()]);
    client = new Client({ url: server.node.httpUrl });
    const extract = task({ name: "extract", run: async () => ({ rows: "forty-two rows" }) });
    const load = task({
      name: "load",
      run: async () => {
        if (isBroken) throw new TerminalError("the disk is full");
        return "loaded";
      },
    });
    const third = task({
      name: "third",
      run: async ({ n }: { n: number }) => {
        if (n === 3) throw new TerminalError("number 3 is bad");
      },
    });
    const undo = task({
      name: "undo",
      run: async (): Promise<never> => {
        throw new TerminalError("the hotel does not answer");
      },
    });
    const tasks = [extract, load, third, undo];
    worker = new Worker({ url: server.node.grpcAddress, tasks, slots: 4, warn: () => undefined });
    await worker.start();
    failed = await submitted({
      name: "nightly-import",
      nodes: [
        { name: "extract", target: { handler: "extract" } },
        { name: "check", target: { handler: "extract" } },
        { name: "load", target: { handler: "load" }, dependsOn: ["extract", "check"] },
        { name: "report", target: { handler: "extract" }, dependsOn: ["load"] },
      ],
    });
    await until(async () => (await client.workflows.get(failed)).state === "DEAD");
    window = await ConsoleWindow.open(browser, server.node.httpUrl);
  });
  after(async () => {
    await window?.close();
    await browser?.close();
    await worker?.stop({ timeoutMs: 0 });
    await server?.stop();
  });

  const submitted = async (workflow: Parameters<Client["workflows"]["submit"]>[0]): Promise<string> =>
    (await client.workflows.submit(workflow)).workflowId;
  const rows = (text: string) => window.page.getByRole("row").filter({ hasText: text });
  const texts = () => window.page.locator(".graph text").count();

  it("list runs by filters that are part of the address", async () => {
    await window.show("workflows");
    await rows("nightly-import").getByText("DEAD").waitFor();
    await window.check();
    await window.page.getByLabel("State").selectOption("SUCCEEDED");
    await window.page.waitForURL(/state=SUCCEEDED/);
    await window.sees("No run matches");
    await window.check(["light"]);
  });

  it("show the graph, the nodes over time and the critical path of a run", async () => {
    await window.show(`workflows/${failed}`);
    await window.counts(".graph rect", 4);
    await window.counts("main .gantt", 3);
    await rows("report").getByText("SKIPPED").waitFor();
    const path = await window.page.locator(".path li").allTextContents();
    assert.equal(path.at(-1), "load");
    await window.check();
  });

  it("show a node, its error and the results of its parents", async () => {
    await window.page.locator(".graph").click({ position: await placeOf("load") });
    await window.sees("Node load");
    await window.page.locator(".panel").getByText("the disk is full").first().waitFor();
    await window.page.locator(".panel summary", { hasText: "extract" }).click();
    await window.page.locator(".panel").getByText("forty-two rows").first().waitFor();
    await window.check();
    await window.page.reload();
    await window.sees("Node load");
    await rows("report").getByRole("link").first().click();
    await window.sees("It does not run because");
  });

  /** Middle of the box of a node, within the graph. */
  async function placeOf(name: string): Promise<{ x: number; y: number }> {
    const [graph, text] = await Promise.all([
      window.page.locator(".graph").boundingBox(),
      window.page.locator(".graph text", { hasText: new RegExp(`^${name}$`) }).boundingBox(),
    ]);
    assert.ok(graph !== null && text !== null);
    return { x: text.x - graph.x + 4, y: text.y - graph.y + text.height / 2 };
  }

  it("retry the failed part after they have said how large it is, and follow the new run", async () => {
    isBroken = false;
    await window.press("Retry the failed part");
    await window.sees("Nodes that run again: 2. Nodes whose results the new run keeps: 2.");
    await window.page.locator("dialog[open]").getByRole("button", { name: "Retry the failed part" }).click();
    await window.page.waitForURL((url) => !url.hash.includes(failed));
    await rows("report").getByText("SUCCEEDED").waitFor();
    await window.page.locator("main > p .state-succeeded").waitFor();
    await window.page.locator("main dl a", { hasText: failed }).waitFor();
    assert.equal(await window.page.getByRole("button", { name: "Retry the failed part" }).count(), 0);
    await window.check(["light"]);
  });

  it("show the items of a map, and the compensation of a node, one by one", async () => {
    const mapped = await submitted({
      input: Array.from({ length: 60 }, () => 0),
      nodes: [
        { name: "each", target: { handler: "third" }, map: "$input", tolerate: { failures: 1 }, ...ITEM },
        { name: "book", target: { handler: "extract" }, compensate: { target: { handler: "undo" }, ...ONCE } },
        { name: "fail", target: { handler: "undo" }, dependsOn: ["each", "book"], ...ONCE },
      ],
    });
    await until(async () => (await client.workflows.get(mapped)).state === "DEAD");
    await window.show(`workflows/${mapped}?node=each`);
    const panel = window.page.locator(".panel");
    await until(async () => (await panel.locator("tbody tr").count()) === 50);
    await panel.getByText("TerminalError: number 3 is bad").waitFor();
    await window.check();
    await panel.getByRole("button", { name: "Next page" }).click();
    await until(async () => (await panel.locator("tbody tr").count()) === 10);
    await panel.getByLabel("State of the items").selectOption("DEAD");
    await until(async () => (await panel.locator("tbody tr").count()) === 1);
    await panel.locator("tbody a").click();
    await window.page.waitForURL(/executions/);
    await window.show(`workflows/${mapped}?node=book`);
    await panel.getByText("the hotel does not answer").first().waitFor();
    await rows("extract").locator(".state-dead").waitFor();
    await window.check();
  });

  it("draw a thousand nodes with few elements, and names where they can be read", async () => {
    const layers = 20;
    const large = await submitted({
      name: "large",
      nodes: Array.from({ length: NODES }, (_, number) => ({
        name: `n${number}`,
        target: { handler: "nobody-offers-this" },
        ...(number >= NODES / layers && { dependsOn: [`n${number - NODES / layers}`] }),
      })),
    });
    await window.show(`workflows/${large}`);
    await window.sees("Zoom in to read the names.");
    assert.equal(await texts(), 0);
    assert.ok((await window.page.locator(".graph *").count()) < 20);
    await window.sees("1 to 100 of 1,000");
    await rows("nobody-offers-this").nth(99).waitFor();
    assert.equal(await rows("nobody-offers-this").count(), 100);
    await window.check(["light"]);
    while ((await texts()) === 0) await window.press("Zoom in");
    const named = await texts();
    assert.ok(named > 2 && named <= 300, `${named} texts`);
    const first = window.page.locator(".graph text").first();
    const before = await first.textContent();
    await window.page.locator(".graph").hover();
    await window.page.mouse.down();
    await window.page.mouse.move(100, 400, { steps: 3 });
    await window.page.mouse.up();
    await until(async () => (await first.textContent()) !== before);
    await window.check(["dark"]);
    await window.confirm("Pause");
    await window.page.locator("main .state-paused").waitFor();
    await window.confirm("Cancel the run");
    await window.page.locator("main > p .state-cancelled").waitFor();
  });

  it("fit a phone", async () => {
    const phone = await ConsoleWindow.open(browser, server.node.httpUrl, { width: 360, height: 740 });
    for (const place of ["workflows", `workflows/${failed}?node=load`]) {
      await phone.show(place);
      await phone.page.locator("main table").first().waitFor();
      await phone.check(["light"]);
    }
    await phone.close();
  });
});
