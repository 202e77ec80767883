import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Measured } from "../../packages/bench/src/measured.ts";
import { costsOf, type Report, readReports } from "./costs.ts";
import { derived, filled } from "./pages.ts";

/** A copy of the first report with another figure of one contender in a case. */
function changed(report: Report, name: string, contender: string, spreads: object): Report {
  const measured = structuredClone(report.measured) as Measured;
  const outcome = measured.results
    .find((result) => result.name === name)
    ?.outcomes.find((one) => one.contender === contender);
  assert.ok(outcome, `${name} of ${contender}`);
  outcome.spreads = spreads as typeof outcome.spreads;
  return { ...report, measured };
}

const same = (value: number) => ({ min: value, median: value, max: value });

describe("the table of the capacity calculator", () => {
  const reports = readReports();
  const [first] = reports as [Report];

  it("follows from the results of the benchmark, and so do the pages", () => {
    for (const { path, is, shouldBe } of derived()) assert.equal(is, shouldBe, `${path} is stale: npm run scale`);
  });

  it("has medians with the case, the contender, the commit and the file that they come from", () => {
    const costs = costsOf(reports);
    const cycle = first.measured.results
      .find(({ name }) => name === "cycle")
      ?.outcomes.find((one) => one.contender === "mainspring");
    assert.equal(costs.cases.cycle.figures.serverCpuUs, cycle?.spreads.serverCpuUs?.median);
    assert.equal(costs.cases.cycle.commit, cycle?.occasions[0]?.commit);
    assert.deepEqual([costs.cases.cycle.case, costs.cases.cycle.file], ["cycle", "docs/performance/results.json"]);
    assert.equal(costs.cases.fleet1?.size, 10_000);
    assert.equal(costs.limits.connections, 13);
  });

  it("changes with a figure of the results", () => {
    const spreads = {
      ...{ jobsPerSec: same(1), serverCpuUs: same(2), storeCpuUs: same(3) },
      ...{ logBytes: { min: 3, median: 4, max: 9 }, writesPerThousand: same(5) },
    };
    const costs = costsOf([changed(first, "cycle", "mainspring", spreads)]);
    const expected = { jobsPerSec: 1, serverCpuUs: 2, storeCpuUs: 3, logBytes: 4, writesPerThousand: 5 };
    assert.deepEqual(costs.cases.cycle.figures, expected);
  });

  it("cannot be derived without a case that every calculation needs", () => {
    const failed = changed(first, "cycle", "mainspring", {});
    assert.throws(() => costsOf([failed]), /the results lack .*cycle/);
    // Another file has the case.
    assert.equal(costsOf([failed, { ...first, file: "second.json" }]).cases.cycle.file, "second.json");
  });

  it("has no figures of an optional case that failed or was not measured", () => {
    assert.equal(costsOf([changed(first, "fleet", "mainspring", {})]).cases.fleet1, null);
    const without = first.measured.results.filter(({ name }) => name !== "fleet");
    const costs = costsOf([{ ...first, measured: { ...first.measured, results: without } }]);
    assert.deepEqual([costs.cases.fleet1, costs.cases.fleet3], [null, null]);
  });
});

describe("a page with generated parts", () => {
  it("keeps what stands around them", () => {
    const page = "a\n<!-- begin: one, made -->\nold\n<!-- end -->\nb\n<!-- begin: two, made -->\n<!-- end -->\n";
    const parts = new Map([
      ["one", "1"],
      ["two", "$& 2"],
    ]);
    const expected =
      "a\n<!-- begin: one, made -->\n\n1\n\n<!-- end -->\nb\n<!-- begin: two, made -->\n\n$& 2\n\n<!-- end -->\n";
    assert.equal(filled(page, parts), expected);
    assert.equal(filled(expected, parts), expected);
    assert.throws(() => filled(page, new Map([["one", "1"]])), /there is no generated part two: one/);
  });
});
