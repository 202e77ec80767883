import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Client, type FigureSeries } from "@mainspring/sdk";
import { loadConfig, type RunningNode, startNode } from "@mainspring/server";
import { until } from "@mainspring/server/testing";
import type { Browser } from "playwright-core";
import { Child } from "../demo/child.ts";
import { startPostgres, type TestPostgres } from "../services/start-postgres.ts";
import { ConsoleWindow, startBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";

const PROGRAM = join(import.meta.dirname, "../../packages/cli/bin/mainspring.mjs");
const KEY = "the-key-of-the-operator";

/** The overview in a real browser, on two servers of which one is killed. */
describe("the last hour in the console", () => {
  let postgres: TestPostgres;
  let node: RunningNode;
  let other: Child;
  let browser: Browser;
  let window: ConsoleWindow;
  let client: Client;
  before(async () => {
    buildConsole();
    [postgres, browser] = await Promise.all([startPostgres({ version: 14 }), startBrowser()]);
    const settings = {
      ...{ MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" },
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: KEY },
    };
    node = await startNode(loadConfig(settings));
    client = new Client({ url: node.httpUrl, apiKey: KEY });
    other = new Child([PROGRAM, "serve"], settings);
    window = await ConsoleWindow.open(browser, node.httpUrl);
  });
  after(async () => {
    await window?.close();
    await browser?.close();
    await other?.stop();
    await node?.stop();
    await postgres?.stop();
  });

  const series = (isWanted: (series: FigureSeries) => boolean) =>
    until(async () => {
      const read = await client.cluster.series();
      return isWanted(read) && read;
    });

  it("is there at once when the page is opened, from both servers, and says what it lacks", async () => {
    const { executionId } = await client.submit({ target: { handler: "echo" }, payload: 1 });
    await until(async () => (await client.getExecution(executionId)).state === "SUCCEEDED");
    // In the first point of both servers, this one may have begun before it knew the other one.
    const read = await series(({ nodes }) => nodes.at(-1) === 2 && nodes.at(-2) === 2);
    assert.deepEqual(read.silent, []);
    const finished = read.finished.flatMap(({ counts }) => counts);
    assert.equal(
      finished.reduce<number>((sum, count) => sum + (count ?? 0), 0),
      1,
      "either server may have run it",
    );
    await window.show("");
    await window.page.getByLabel("API key").fill(KEY);
    await window.press("Log in");
    await window.sees(/no server that runs now was running then/);
    await window.counts(".chart canvas", 6);
    await window.sees("No alert would fire.");
    await window.check();
  });

  it("has a gap for the time of a server that was killed, and goes on after it", async () => {
    process.kill(other.pid, "SIGKILL");
    await series(({ nodes, missing }) => nodes.at(-1) === 1 && missing.at(-1) === 0 && missing.includes(1));
    await window.sees(/a server of then did not tell its figures, so sums are left out/);
    await window.page
      .getByRole("img", { name: /2 parts lack figures/ })
      .first()
      .waitFor();
    await window.check();
  });
});
