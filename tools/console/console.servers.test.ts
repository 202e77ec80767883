import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { until } from "@mainspring/server/testing";
import type { Browser } from "playwright-core";
import { ConsoleWindow, startBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";
import { HOSTILE, type Scene, startScene } from "./scene.ts";

/** The console in a real browser, on a real server without a key. */
describe("the console", () => {
  let scene: Scene;
  let browser: Browser;
  let window: ConsoleWindow;
  before(async () => {
    buildConsole();
    [scene, browser] = await Promise.all([startScene(), startBrowser()]);
    window = await ConsoleWindow.open(browser, scene.node.httpUrl);
  });
  after(async () => {
    await window?.close();
    await browser?.close();
    await scene?.stop();
  });

  const rows = () => window.page.locator("main tbody tr");
  const show = (place: string) => window.show(place);

  it("is where the address of the server leads a browser", async () => {
    await window.page.goto(scene.node.httpUrl);
    assert.match(window.page.url(), /\/console\/$/);
    await window.page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  it("shows the state of the system at a glance", async () => {
    await show("");
    await window.sees("Finished per second");
    await window.page
      .getByText(/median/)
      .first()
      .waitFor();
    await window.sees(/1 of \d+ busy/);
    await window.counts(".chart canvas", 6);
    await window.sees("Failed attempts of the hour, by handler");
    assert.equal(await window.page.locator('a[href="#/dead-letters"] >> text="2"').count(), 1);
    await window.check();
  });

  it("lists executions by filters that are part of the address", async () => {
    await show("executions");
    await rows().first().waitFor();
    await window.check();
    await window.page.getByLabel("State").selectOption("DEAD");
    await window.page.waitForURL(/state=DEAD/);
    await window.counts("main tbody tr", 2);
    await window.page.reload();
    await window.counts("main tbody tr", 2);
    await window.page.getByLabel("Handler").fill("charge");
    await window.press("Apply");
    await window.counts("main tbody tr", 1);
    await window.page.getByLabel("Handler").fill("no such");
    await window.press("Apply");
    await window.sees("The request is not as its schema says (400)");
    await window.page.getByLabel("Handler").fill("no-such");
    await window.press("Apply");
    await window.sees("No execution matches");
    await window.press("Clear filters");
    await rows().nth(2).waitFor();
  });

  it("follows new executions while the list is open", async () => {
    await show("executions?handler=sleep");
    await window.sees("No execution matches");
    await scene.client.submit({ target: { handler: "sleep" }, payload: { ms: 1 } });
    await rows().first().getByText("SUCCEEDED").waitFor();
    assert.equal(await rows().count(), 1);
  });

  it("shows the attempts of an execution, its error and its log lines", async () => {
    await show(`executions/${scene.ids.dead}`);
    await window.sees("the bank refused card-1");
    assert.equal(await rows().count(), 3);
    await window.sees(/at charge \(billing\.ts/);
    await window.check();
    await show(`executions/${scene.ids.greeted}`);
    await window.sees(/greeting Ada/);
  });

  it("shows results that are HTML, names that hide something and a payload of a megabyte as text", async () => {
    await show(`executions/${scene.ids.greeted}`);
    await window.page.getByText(HOSTILE.slice(0, 20)).first().waitFor();
    await show(`executions/${scene.ids.large}`);
    await window.page.getByText(HOSTILE.slice(0, 20)).first().waitFor();
    await window.sees("Show 20,000 more characters");
    assert.equal(await window.page.locator("main img, main script").count(), 0);
    assert.ok(Number(await window.page.evaluate("document.body.innerHTML.length")) < 100_000);
    assert.notEqual(await window.page.title(), "caught");
    await show(`jobs/${scene.ids.reversed}`);
    await window.sees("invoice\\u202efdp.exe");
    window.checkFaults();
  });

  it("keeps ten thousand attempts out of the document", async () => {
    const execution = await scene.client.getExecution(scene.ids.dead);
    const [first] = execution.attempts;
    const attempts = Array.from({ length: 10_000 }, (_, place) => ({ ...first, attempt: place + 1 }));
    const path = `**/v1/executions/${scene.ids.dead}`;
    await window.page.route(path, (route) => route.fulfill({ json: { ...execution, attempts } }));
    await show("");
    await show(`executions/${scene.ids.dead}`);
    await window.sees("9,901 to 10,000 of 10,000");
    await window.counts("main tbody tr", 100);
    assert.equal(await rows().count(), 100);
    await window.press("Earlier");
    await window.sees("9,801 to 9,900 of 10,000");
    await window.page.unroute(path);
  });

  it("says why an execution waits, and cancels one", async () => {
    await show(`executions/${scene.ids.waits}`);
    await window.sees("No worker of the pool offers its handler.");
    await window.check();
    await window.confirm("Cancel the execution");
    await window.page.locator("main .state-cancelled").first().waitFor();
    await window.confirm("Run again");
    await window.page.waitForURL((url) => !url.hash.includes(scene.ids.waits));
    await window.sees(scene.ids.waits);
  });

  it("shows progress and lines of a handler that runs, and its end", async () => {
    await show(`executions/${scene.ids.renders}`);
    await window.sees("page 4 of 10");
    await window.sees(/rendering page 4/);
    await window.check();
    await window.confirm("Cancel the execution");
    await window.page.locator("main .state-cancelled").first().waitFor();
  });

  it("pauses, resumes and runs a recurring job, and shows when it fires", async () => {
    await show("jobs");
    await window.sees("nightly");
    await window.check();
    await show(`jobs/${scene.ids.nightly}`);
    await window.sees("0 3 * * * (UTC)");
    await window.counts("main ol li", 10);
    await window.check();
    await window.confirm("Pause");
    await window.page.locator("main .state-paused").waitFor();
    await window.confirm("Resume");
    await window.page.locator("main .state-active").waitFor();
    await window.confirm("Run now");
    await window.page.waitForURL(/executions/);
    await window.page.locator("main .state-succeeded").first().waitFor();
  });

  it("replays dead letters of one error, and discards all that match", async () => {
    await show("dead-letters");
    await window.sees("TerminalError: this will never work");
    await window.check();
    const group = window.page.locator("main tbody tr", { hasText: "this will never work" }).first();
    await group.getByRole("button", { name: "Replay these" }).click();
    await window.page.locator("dialog[open]").getByRole("button", { name: "Replay these" }).click();
    await window.counts("dialog[open]", 0);
    await show("dead-letters?handler=charge");
    await window.confirm("Discard all that match");
    await window.sees("1 done, 0 left as they are.");
    await window.sees("No dead letters");
    await window.check();
  });

  it("cancels and retries all executions that match, and shows the progress again after a reload", async () => {
    const { client } = scene;
    const stuck = { target: { handler: "nobody-offers-that" }, labels: { batch: "stuck" } };
    for (let n = 0; n < 3; n++) await client.submit(stuck);
    await show("executions");
    await window.page.getByLabel("Label").fill("batch=stuck");
    await window.press("Apply");
    await window.page.waitForURL(/label=batch%3Dstuck/);
    await window.counts("main tbody tr", 3);
    await window.sees("3 match.");
    await window.press("Cancel all that match");
    const question = window.page.locator("dialog[open]");
    await question.getByText("3 executions match.").waitFor();
    await window.check();
    await question.getByRole("button", { name: "Cancel all that match", exact: true }).click();
    await window.page.waitForURL(/run=/);
    await window.sees("Finished: 3 done.");
    await window.page.reload();
    await window.sees("Finished: 3 done.");
    await window.counts("main tbody .state-cancelled", 3);
    await window.check();
    await window.press("Hide the run");
    await window.page.waitForURL((url) => !url.hash.includes("run="));
    const failed = await client.submit({ target: { handler: "refuse" }, labels: { batch: "bad" } });
    await until(async () => (await client.getExecution(failed.executionId)).state === "DEAD");
    const since = new Date(Date.now() - 3_600_000).toISOString();
    await show(`executions?state=DEAD&label=batch&error=NEVER%20work&since=${since}`);
    await window.counts("main tbody tr", 1);
    await window.confirm("Retry all that match");
    await window.sees("Finished: 1 done.");
    await until(async () => (await client.countExecutions({ label: ["batch=bad"], state: "DEAD" })).matching === 2);
    await window.page.getByLabel("State").selectOption("");
    await window.sees("state: must be given with error");
  });

  it("shows workers, pools and nodes, and pauses a pool", async () => {
    await show("workers");
    await window.sees("worker-1");
    await window.check();
    await show("pools");
    await window.confirm("Pause");
    await window.page.locator("main .state-paused").waitFor();
    await window.check();
    await window.confirm("Resume");
    await window.page.locator("main .state-active").waitFor();
    await show("cluster");
    await window.sees("LIVING");
    await window.check();
  });

  it("shows times on the clocks of a zone, and keeps the choice", async () => {
    await show("executions");
    await window.page.getByText("Settings").click();
    await window.page.getByLabel("Times").selectOption("absolute");
    await window.page.getByLabel("Time zone").fill("Asia/Tokyo");
    await window.page.keyboard.press("Enter");
    await window.sees(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} GMT\+9/);
    await window.check();
    await window.page.reload();
    await window.sees(/GMT\+9/);
    await window.page.getByText("Settings").click();
    await window.page.getByLabel("Colours").selectOption("dark");
    assert.equal(await window.page.evaluate("document.documentElement.dataset.theme"), "dark");
  });

  it("can be used by the keyboard alone", async () => {
    await show("");
    await window.page.reload();
    await window.page.keyboard.press("Tab");
    assert.equal(await window.page.evaluate("document.activeElement.textContent"), "Skip to the content");
    await window.page.keyboard.press("Enter");
    assert.equal(await window.page.evaluate("document.activeElement.id"), "main");
    await window.page.getByRole("link", { name: "Jobs" }).focus();
    await window.page.keyboard.press("Enter");
    await window.page.getByRole("heading", { name: "Jobs" }).waitFor();
    assert.equal(await window.page.evaluate("document.activeElement.textContent"), "Jobs");
  });

  it("leads to pages, ids, pools and handlers by the palette", async () => {
    await show("");
    await window.page.keyboard.press("Control+k");
    const field = window.page.getByRole("combobox", { name: /^Go to a page/ });
    const options = window.page.getByRole("option");
    await field.fill("dead");
    await options.first().waitFor();
    await window.check();
    await window.page.keyboard.press("Enter");
    await window.page.getByRole("heading", { name: "Dead letters" }).first().waitFor();
    await window.press("Go to…");
    await field.fill("greet");
    await options.filter({ hasText: "executions of the handler" }).click();
    await window.page.waitForURL(/executions\?handler=greet/);
    await window.page.keyboard.press("Control+k");
    await field.fill(scene.ids.nightly);
    await window.page.keyboard.press("ArrowDown");
    await window.page.keyboard.press("Enter");
    await window.page.waitForURL((url) => url.hash === `#/jobs/${scene.ids.nightly}`);
    await window.page.keyboard.press("Control+k");
    await field.fill("no such thing");
    await window.sees("Nothing has this name.");
    await window.page.keyboard.press("Escape");
    await window.counts("dialog[open]", 0);
  });

  it("fits a phone", async () => {
    const phone = await ConsoleWindow.open(browser, scene.node.httpUrl, { width: 360, height: 740 });
    for (const place of [
      "",
      "executions",
      `executions/${scene.ids.greeted}`,
      "jobs",
      "dead-letters",
      "workers",
      "pools",
      "cluster",
    ]) {
      await phone.show(place);
      await phone.page.locator("main :is(table, .empty, dl)").first().waitFor();
      await phone.check(["light"]);
    }
    await phone.close();
  });

  it("says that a page or the server is not there, and goes on afterwards", async () => {
    await window.page.goto(`${scene.node.httpUrl}/console/#/no/such/page`);
    await window.sees("There is no such page");
    await show(`executions/${scene.ids.nightly}`);
    await window.sees("There is nothing here (404)");
    await show("jobs");
    await window.sees("nightly");
    await window.page.context().setOffline(true);
    await show("workers");
    await window.sees("The server does not answer");
    await window.page.context().setOffline(false);
    await window.sees("worker-1");
    await window.counts(".failure", 0);
    window.checkFaults();
    assert.match(window.page.url(), /#\/workers$/);
  });
});
