import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import type { RunningNode } from "@mainspring/server";
import { until } from "@mainspring/server/testing";
import type { Browser } from "playwright-core";
import { ConsoleWindow, startBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";
import { startServer } from "./scene.ts";

const WEEKLY = { schedule: "0 5 * * MON", timezone: "Europe/Berlin", priority: 7 };

/** The parts of the console about schedules, ledgers and limits in a real browser, on a real server. */
describe("the console's schedules", () => {
  let server: { node: RunningNode; stop(): Promise<void> };
  let client: Client;
  let worker: Worker;
  let browser: Browser;
  let window: ConsoleWindow;
  let nightly: string;
  let ticks: string;
  let echoed: string;
  before(async () => {
    buildConsole();
    [server, browser] = await Promise.all([startServer(null), startBrowser()]);
    client = new Client({ url: server.node.httpUrl });
    const tasks = [task({ name: "repeat", run: async (payload: unknown) => payload })];
    worker = new Worker({ url: server.node.grpcAddress, tasks, slots: 4, warn: () => undefined });
    await worker.start();
    const target = { handler: "repeat" };
    const berlin = { schedule: "30 2 * * *", timezone: "Europe/Berlin" };
    nightly = (await client.submit({ name: "nightly", target, ...berlin })).jobId;
    ticks = (await client.submit({ name: "ticks", target, everySec: 1 })).jobId;
    echoed = (await client.submit({ target, payload: { id: 7 } })).executionId;
    await until(async () => (await client.getExecution(echoed)).state === "SUCCEEDED");
    await until(async () => (await client.getJob(ticks)).latestExecutions.some(({ state }) => state === "SUCCEEDED"));
    await client.jobs.pause(ticks);
    window = await ConsoleWindow.open(browser, server.node.httpUrl);
  });
  after(async () => {
    await window?.close();
    await browser?.close();
    await worker?.stop({ timeoutMs: 0 });
    await server?.stop();
  });

  const editor = () => window.page.locator("details", { hasText: "Change the job" });
  const rows = (text: string) => window.page.getByRole("row").filter({ hasText: text });

  it("show the fires of a month, and what a clock change does to them", async () => {
    const march = `${new Date().getUTCFullYear() + 1}-03`;
    await window.show(`jobs/${nightly}?month=${march}`);
    await window.counts(".calendar .cell-planned", 31);
    await window.sees("Clocks change from +01:00 to +02:00");
    await window.page.locator(".calendar .mark", { hasText: "moved" }).waitFor();
    await window.check();
    await window.page.getByRole("link", { name: "Later month" }).click();
    await window.page.waitForURL(/month=\d{4}-04/);
    await window.counts(".calendar .cell-planned", 30);
  });

  it("show the outcomes of past instants", async () => {
    await window.show(`jobs/${ticks}`);
    await window.page.locator(".calendar .cell-ran").first().waitFor();
    const ledger = window.page.getByRole("region", { name: "Ledger" });
    await ledger.getByRole("row").filter({ hasText: "ran" }).first().getByRole("link").waitFor();
    await window.check();
  });

  it("say how many executions a backfill creates, and start it", async () => {
    await window.show(`jobs/${nightly}`);
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    await window.page.getByText("Preview").first().click();
    await window.page.getByLabel("From", { exact: true }).fill(`${day(1)}T12:00:00Z`);
    await window.page.getByLabel(/^Until/).fill("2001-01-01T00:00:00Z");
    await window.press("Preview");
    await window.sees("must be later than since");
    await window.page.getByLabel("From", { exact: true }).fill(`${day(4)}T12:00:00Z`);
    await window.page.getByLabel(/^Until/).fill(`${day(1)}T12:00:00Z`);
    await window.press("Preview");
    await window.sees("Executions that the backfill creates: 3.");
    await window.check(["light"]);
    await window.confirm("Backfill");
    await window.sees("The backfill has begun with 3 planned instants.");
    const isDone = async () => (await client.getJob(nightly)).latestExecutions.filter(hasRun).length === 3;
    await until(isDone);
  });

  const hasRun = ({ state, trigger }: { state: string; trigger: string }) =>
    state === "SUCCEEDED" && trigger === "BACKFILL";

  it("preview a cron expression while it is typed", async () => {
    await window.show("jobs");
    await window.page.getByText("Try a schedule").click();
    await window.page.getByLabel("Cron expression").pressSequentially("0 9 * * MON");
    await window.counts("main ol li", 10);
    await window.sees("at 09:00 on Monday in UTC");
    await window.check();
    await window.page.getByLabel("Cron expression").fill("0 99 * * *");
    await window.page.locator("main .failure").getByText("schedule").first().waitFor();
    await window.page.getByLabel("Cron expression").fill("30 2 * * *");
    await window.page.getByLabel("Time zone").last().fill("Europe/Berlin");
    await window.page
      .locator("main ol")
      .getByText(/\+0[12]:00/)
      .first()
      .waitFor();
  });

  it("say in words what the schedule of a job means", async () => {
    await window.show(`jobs/${nightly}`);
    await window.sees("at 02:30 every day in Europe/Berlin");
    await window.show(`jobs/${ticks}`);
    await window.sees("every second, counted from the creation of the job");
    await window.check(["light"]);
  });

  it("change a job, with a preview, and say where the server refuses it", async () => {
    const { jobId } = await client.submit({
      name: "edited",
      target: { handler: "repeat" },
      ...WEEKLY,
      payload: { a: 1 },
    });
    await window.show(`jobs/${jobId}`);
    await window.page.getByText("Change the job").click();
    const expression = editor().getByLabel("Cron expression");
    await expression.fill("0 99 * * *");
    await window.press("Save the change");
    await window.page.locator("main .failure").getByText("must be 0 to 23").first().waitFor();
    await expression.fill("0 18 LW * *");
    await window.page.locator("details .words", { hasText: "at 18:00 on the last weekday of the month" }).waitFor();
    await editor().getByLabel("Payload, as JSON").fill('{ "id": 12345678901234567890 }');
    await editor().getByLabel("Overlap").selectOption("ALLOW");
    await window.check();
    await window.press("Save the change");
    await window.sees("Version 2.");
    await window.sees("0 18 LW * * (Europe/Berlin)");
    const answer = await (await fetch(`${server.node.httpUrl}/v1/jobs/${jobId}`)).text();
    assert.match(answer, /"payload":\s*\{\s*"id":\s*12345678901234567890\s*\}/);
    const { overlap, priority, version } = await client.getJob(jobId);
    assert.deepEqual({ overlap, priority, version }, { overlap: "ALLOW", priority: 7, version: 2 });
  });

  it("keep what somebody typed when the job was changed meanwhile, and never overwrite the other's fields unasked", async () => {
    const { jobId } = await client.submit({ name: "contended", target: { handler: "repeat" }, ...WEEKLY });
    await window.show(`jobs/${jobId}`);
    await window.page.getByText("Change the job").click();
    await editor().getByLabel("Priority, 0 to 9").fill("9");
    await editor().getByLabel("Cron expression").fill("0 6 * * *");
    const other = { name: "contended", target: { handler: "repeat" }, ...WEEKLY, schedule: "0 7 * * *" };
    await client.replaceJob(jobId, { ...other, overlap: "BUFFER_ONE" });
    await window.press("Save the change");
    await window.page.locator("main .failure").getByText("the job has version 2 by now").first().waitFor();
    await window.sees("it has version 2 by now, and you began with version 1");
    await window.sees("You both changed: Cron expression.");
    await window.check(["light"]);
    await window.press("Keep my fields, and take the others from the present version");
    await window.counts("main .failure", 0);
    await window.press("Save the change");
    await window.sees("Version 3.");
    const { schedule, overlap, priority } = await client.getJob(jobId);
    assert.deepEqual({ schedule, overlap, priority }, { schedule: "0 6 * * *", overlap: "BUFFER_ONE", priority: 9 });
  });

  it("run an execution again with another payload, whose digits stay", async () => {
    await window.show(`executions/${echoed}`);
    await window.page.getByText("Run again with changes").click();
    await window.page.getByLabel("Payload, as JSON").fill("{");
    await window.sees("This is no JSON: Payload, as JSON.");
    await window.page.getByLabel("Payload, as JSON").fill('{ "id": 12345678901234567890 }');
    await window.check(["light"]);
    await window.press("Run");
    await window.page.waitForURL((url) => !url.hash.includes(echoed));
    await window.page.locator("main .state-succeeded").first().waitFor();
    const id = window.page.url().split("/").at(-1);
    const answer = await fetch(`${server.node.httpUrl}/v1/executions/${id}`);
    assert.match(await answer.text(), /"payload":\s*\{\s*"id":\s*12345678901234567890\s*\}/);
  });

  it("change the limits of a pool", async () => {
    await window.show("pools");
    await rows("default").getByRole("link", { name: "Limits" }).click();
    await window.page.getByLabel("Attempts at workers at once").fill("7");
    await window.press("Limits of the pool default");
    await rows("default").getByText("7", { exact: true }).waitFor();
    const { maxRunning, ratePerSec } = await client.pools.get("default");
    assert.deepEqual({ maxRunning, ratePerSec }, { maxRunning: 7, ratePerSec: null });
    await window.check();
  });

  it("fit a phone", async () => {
    const phone = await ConsoleWindow.open(browser, server.node.httpUrl, { width: 360, height: 740 });
    for (const place of [`jobs/${ticks}`, "jobs", "pools?pool=default", `executions/${echoed}`]) {
      await phone.show(place);
      await phone.page.locator("main :is(.calendar, details.form)").first().waitFor();
      await phone.check(["light"]);
    }
    await phone.close();
  });
});
