import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { FORMAT, outcomeOf } from "../measured.ts";
import { writeReport } from "../report/report.ts";
import { CONSOLE_FORMAT, type ConsoleMeasured } from "./console-measured.ts";
import { consoleSection } from "./console-section.ts";

const MEASURED: ConsoleMeasured = {
  format: CONSOLE_FORMAT,
  isQuick: false,
  machine: { CPU: "a" },
  at: "2026-01-01T10:00:59.000Z",
  commit: "abc",
  load: 0.25,
  othersPercent: 3.4,
  rows: 1_000_000,
  firstViews: [
    {
      page: "overview",
      transfers: [
        { kind: "Document", requests: 1, bytes: 1_024 },
        { kind: "Script", requests: 2, bytes: 71_680 },
        { kind: "Fetch", requests: 7, bytes: 20_480 },
      ],
      firstContentfulPaintMs: 1_234.4,
      interactiveMs: 2_000.6,
      longestTaskMs: 183.2,
      domNodes: 420,
    },
    {
      page: "executions",
      transfers: [{ kind: "Document", requests: 1, bytes: 512 }],
      ...{ firstContentfulPaintMs: 900, interactiveMs: 900, longestTaskMs: 0, domNodes: 2_100 },
    },
  ],
  list: [
    { what: "opened", rows: 100, longestTasksMs: [0] },
    { what: "live", rows: 201, longestTasksMs: [0, 0] },
    { what: "5 further pages", rows: 100, longestTasksMs: [0, 50.4, 70] },
  ],
  costs: [
    {
      ...{ page: "overview", consoles: 50, jobsPerSec: 50, requestsPerMin: 72, kibPerMin: 600.4 },
      ...{ withoutPercent: [9, 8, 10], withPercent: [14, 13, 12.5], failures: 0 },
      ...{ storeWithoutPercent: [3, 4, 5], storeWithPercent: [6, 7, 8] },
    },
    {
      ...{ page: "executions", consoles: 50, jobsPerSec: 50, requestsPerMin: 30, kibPerMin: 900 },
      ...{ withoutPercent: [9], withPercent: [14.1], failures: 0, storeWithoutPercent: [3], storeWithPercent: [6] },
    },
  ],
};

const row = (text: string, title: string) =>
  text
    .split("\n")
    .find((line) => line.startsWith(`| ${title} |`))
    ?.split(" | ")
    .slice(1)
    .join(" | ");

describe("the section about the console", () => {
  const text = consoleSection(MEASURED);

  it("says when and of what it was measured", () => {
    const when = "Measured at 2026-01-01 10:00 UTC of abc: load average before 0.3, others took 3 % of the CPU.";
    assert.ok(text.includes(`1,000,000 finished executions before. ${when}`));
    assert.match(consoleSection({ ...MEASURED, isQuick: true }), /It was a quick one/);
  });

  it("has the first views side by side, by kinds of resources", () => {
    assert.equal(row(text, "requests"), "10 | 1 |");
    assert.equal(row(text, "KiB"), "91.0 | 0.5 |");
    assert.equal(row(text, "script: requests, KiB"), "2, 70.0 | – |");
    assert.equal(row(text, "time to interactive ms"), "2,001 | 900 |");
    assert.equal(row(text, "longest task ms"), "183.2 | under 50 |");
  });

  it("judges the rows and the tasks of the list", () => {
    assert.equal(row(text, "opened"), "100 | under 50 | yes |");
    assert.equal(row(text, "live"), "201 | under 50 | **no** |");
    assert.equal(row(text, "5 further pages"), "100 | 50.4 (under 50 to 70.0) | **no** |");
  });

  it("judges the difference of the medians, and answers that were wrong", () => {
    const overview = "50 | 50 | 72 | 600 | 9.0 (8.0 to 10.0) | 13.0 (12.5 to 14.0) | 4.0";
    assert.equal(row(text, "overview"), `${overview} | 4.0 (3.0 to 5.0) | 7.0 (6.0 to 8.0) | 0 | yes |`);
    assert.match(row(text, "list of executions") ?? "", /9\.0 \| 14\.1 \| 5\.1 .*\*\*no\*\*/);
    const wrong = MEASURED.costs.map((cost) => ({ ...cost, failures: 1 }));
    assert.match(row(consoleSection({ ...MEASURED, costs: wrong }), "overview") ?? "", /1 \| \*\*no\*\* \|$/);
  });
});

describe("a report", () => {
  let docs: string;
  before(async () => {
    docs = await mkdtemp(join(tmpdir(), "bench-report-"));
    await mkdir(join(docs, "performance"));
  });
  after(() => rm(docs, { recursive: true, force: true }));

  const occasion = { at: "2026-01-01T10:00:00.000Z", commit: "abc", load: 0, othersPercent: null, failures: [] };
  const outcomes = [outcomeOf("mainspring", [{ ...occasion, runs: [{ jobsPerSec: 7 }] }])];
  const results = [{ scenario: "drain", name: "drain-20k", title: "drain", outcomes }];
  const written = async () => {
    await writeReport(docs, { format: FORMAT, isQuick: false, machine: { CPU: "a" }, results });
    return await readFile(join(docs, "performance.md"), "utf8");
  };

  it("has the section if the console was measured", async () => {
    assert.doesNotMatch(await written(), /## console/);
    await writeFile(join(docs, "performance", "console.json"), JSON.stringify(MEASURED));
    assert.ok((await written()).includes(consoleSection(MEASURED)));
  });

  it("is refused with figures of another kind", async () => {
    await writeFile(join(docs, "performance", "console.json"), JSON.stringify({ format: FORMAT }));
    await assert.rejects(written(), /console\.json is not what console --json writes/);
  });
});
