import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Report } from "./play.ts";
import { untilAllIsSeen } from "./sightings.ts";

const reportOf = (rules: string[]): Report => ({
  violations: rules.map((rule) => ({ rule, what: "something" })),
  figures: {},
  folder: null,
});

/** Runs that break these rules one after the other; further ones break none. */
async function outcome(...runs: string[][]): Promise<{ seeds: number[]; rules: string[] }> {
  const seeds: number[] = [];
  const report = await untilAllIsSeen(7, async (seed) => reportOf(runs[seeds.push(seed) - 1] ?? []));
  return { seeds, rules: report.violations.map(({ rule }) => rule) };
}

describe("what runs of the crash tests must show", () => {
  it("is shown by one run, or by the next ones together", async () => {
    assert.deepEqual(await outcome([]), { seeds: [7], rules: [] });
    assert.deepEqual(await outcome(["zombiesCameBack", "faultsHappened"], ["faultsHappened"], ["zombiesCameBack"]), {
      seeds: [7, 8, 9],
      rules: [],
    });
  });

  it("is missed when three runs do not show it", async () => {
    const missing = ["zombiesCameBack"];
    assert.deepEqual(await outcome(missing, missing, [...missing, "faultsHappened"]), {
      seeds: [7, 8, 9],
      rules: ["zombiesCameBack"],
    });
  });

  it("excuses no broken rule, and repeats no run that broke one", async () => {
    assert.deepEqual(await outcome(["budgetsHold", "zombiesCameBack"]), {
      seeds: [7],
      rules: ["budgetsHold", "zombiesCameBack"],
    });
    assert.deepEqual(await outcome(["zombiesCameBack"], ["budgetsHold"]), { seeds: [7, 8], rules: ["budgetsHold"] });
  });
});
