import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { WorkflowFailed } from "@mainspring/sdk";
import { simulate } from "@mainspring/testkit";
import { scheduleReport, sourcesReport } from "./sources-report.ts";

const START = "2026-03-02T03:00:00Z";

/** The three sources, as an HTTP server that refuses what the test says, and the report. */
async function stage(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "mainspring-report-"));
  const asked: string[] = [];
  // Answers that a source refuses before it gives one.
  const refusals: Record<string, number> = {};
  const bodies: Record<string, unknown> = {
    sales: [
      { shop: "Oslo", cents: 12_050 },
      { shop: "Rome", cents: 7_000 },
    ],
    stock: [
      { item: "tea", left: 3 },
      { item: "rice", left: 40 },
    ],
    weather: { summary: "rain" },
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const name = pathname.slice(1);
    asked.push(`${name} ${searchParams.get("day")}`);
    refusals[name] = (refusals[name] ?? 0) - 1;
    response.writeHead(refusals[name] >= 0 ? 503 : 200, { connection: "close" }).end(JSON.stringify(bodies[name]));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sources = { sales: `${url}/sales`, stock: `${url}/stock`, weather: `${url}/weather` };
  const report = sourcesReport({ sources, folder, now: () => m.clock.now() });
  const m = await simulate({ workflows: [report], startAt: START });
  t.after(() => m.stop());
  return { m, report, refusals, asked, folder };
}

test("the report is made of three sources, each asked once", async (t) => {
  const { m, report, asked } = await stage(t);
  const { file, missing } = await (await report.submit(m.client)).result();
  assert.deepEqual(missing, []);
  const text = "# 2026-03-01\n- Sales: 190.50 in 2 shops\n- Nearly sold out: tea\n- Weather: rain\n";
  assert.equal(await readFile(file, "utf8"), text);
  assert.deepEqual(asked.sort(), ["sales 2026-03-01", "stock 2026-03-01", "weather 2026-03-01"]);
});

test("a report without weather says so, and is not late because of it", async (t) => {
  const { m, report, refusals } = await stage(t);
  refusals["weather"] = 9;
  const run = await report.submit(m.client);
  const { file, missing } = await run.result();
  assert.deepEqual(missing, ["weather"]);
  assert.match(await readFile(file, "utf8"), /^- Weather: MISSING, the source did not answer$/m);
  const weather = await m.node(run, "weather");
  assert.deepEqual([weather.state, weather.attempt, weather.error?.message], ["DEAD", 2, "weather answered 503"]);
  assert.ok(m.clock.now().getTime() - Date.parse(START) < 2 * 60_000);
});

test("a source that answers late is asked again, and the others are not", async (t) => {
  const { m, report, refusals, asked } = await stage(t);
  refusals["sales"] = 3;
  assert.deepEqual((await (await report.submit(m.client)).result()).missing, []);
  assert.equal(asked.filter((name) => name.startsWith("sales")).length, 4);
  assert.equal(asked.length, 6);
});

test("without sales there is no report, and its retry a day later is for the same day", async (t) => {
  const { m, report, refusals, asked, folder } = await stage(t);
  refusals["sales"] = 5;
  const run = await report.submit(m.client);
  await assert.rejects(run.result(), (error) => error instanceof WorkflowFailed && error.node === "sales");
  assert.deepEqual(await readdir(folder), []);
  assert.equal((await m.states(run))["report"], "SKIPPED");

  await m.clock.advance("1 day");
  asked.length = 0;
  await (await run.retry()).result();
  assert.deepEqual(asked, ["sales 2026-03-01"]);
  assert.deepEqual(await readdir(folder), ["2026-03-01.md"]);
});

test("each night has its report, also when the program starts again", async (t) => {
  const { m, report, folder } = await stage(t);
  const { created, jobId } = await scheduleReport(m.client, report);
  await m.clock.advance("1 day");
  assert.deepEqual(await scheduleReport(m.client, report), {
    created: false,
    jobId,
    state: "ACTIVE",
    nextFireAt: "2026-03-04T03:00:00.000Z",
  });
  await m.clock.advance("1 day");
  assert.equal(created, true);
  assert.deepEqual((await readdir(folder)).sort(), ["2026-03-02.md", "2026-03-03.md"]);
});
