import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FORMAT, type Measured, outcomeOf } from "./measured.ts";
import { merged } from "./merge.ts";

describe("the results of several sessions", () => {
  it("come into one report, each with its time and commit", () => {
    const { results } = merged([
      session({ case: "drain", at: "T1", commit: "a", rates: { mainspring: 10 } }),
      session({ case: "cycle", at: "T2", commit: "b", rates: { mainspring: 20 } }),
    ]);
    assert.deepEqual(results.map(wordsOf), ["drain: mainspring 10 of a at T1", "cycle: mainspring 20 of b at T2"]);
  });

  it("count together where they are of the same commit, in whatever order they are given", () => {
    const early = session({ case: "drain", at: "T1", commit: "a", rates: { mainspring: 30, graphile: 5 } });
    const late = session({ case: "drain", at: "T2", commit: "a", rates: { mainspring: 10, "pg-boss-2": 7 } });
    const { results } = merged([late, early]);
    assert.deepEqual(results[0]?.outcomes[0]?.spreads.jobsPerSec, { min: 10, median: 10, max: 30 });
    assert.deepEqual(results.map(wordsOf), [
      "drain: mainspring 30 10 of a a at T1 T2, pg-boss-2 7 of a at T2, graphile 5 of a at T1",
    ]);
  });

  it("count for the newest commit alone where there are several, for each contender that it has", () => {
    const { results } = merged([
      session({ case: "drain", at: "T2", commit: "b", rates: { mainspring: 40 } }),
      session({ case: "drain", at: "T1", commit: "a", rates: { mainspring: 10, graphile: 5 } }),
    ]);
    assert.deepEqual(results.map(wordsOf), ["drain: mainspring 40 of b at T2, graphile 5 of a at T1"]);
  });

  it("count once, also where a file is given twice, or within another", () => {
    const one = session({ case: "drain", at: "T1", commit: "a", rates: { mainspring: 10 } });
    const other = session({ case: "drain", at: "T2", commit: "a", rates: { mainspring: 20 } });
    const both = merged([one, other]);
    assert.deepEqual(merged([one, both, other, one]), both);
  });

  it("keep the reason why a contender cannot run a case", () => {
    const one = session({ case: "flows", at: "T1", commit: "a", rates: { mainspring: 10 } });
    const unable = { ...outcomeOf("bullmq-always", []), unsupported: "one parent" };
    const withReason = { ...one, results: one.results.map((item) => ({ ...item, outcomes: [unable] })) };
    const [, reason] = merged([one, withReason]).results[0]?.outcomes ?? [];
    assert.deepEqual(reason, unable);
  });

  it("are refused where they are not of one machine or one size", () => {
    const one = session({ case: "drain", at: "T1", commit: "a", rates: { mainspring: 10 } });
    assert.throws(() => merged([one, { ...one, isQuick: true }]), /a quick session's cases are smaller/);
    assert.throws(() => merged([one, { ...one, machine: { CPU: "b" } }]), /CPU was a in one session, and b in another/);
    assert.doesNotThrow(() => merged([one, { ...one, machine: { CPU: "a", Redis: "7" } }]));
  });
});

interface Told {
  case: string;
  at: string;
  commit: string;
  rates: Record<string, number>;
}

function session({ case: name, at, commit, rates }: Told): Measured {
  const outcomes = Object.entries(rates).map(([contender, jobsPerSec]) => {
    const runs = [{ jobsPerSec }];
    return outcomeOf(contender, [{ at, commit, load: 0, othersPercent: null, runs, failures: [] }]);
  });
  const results = [{ scenario: name, name, title: name, outcomes }];
  return { format: FORMAT, isQuick: false, machine: { CPU: "a" }, results };
}

function wordsOf({ name, outcomes }: Measured["results"][number]): string {
  const told = outcomes.map(({ contender, occasions }) => {
    const rates = occasions.flatMap(({ runs }) => runs.map(({ jobsPerSec }) => jobsPerSec)).join(" ");
    const commits = occasions.map(({ commit }) => commit).join(" ");
    return `${contender} ${rates} of ${commits} at ${occasions.map(({ at }) => at).join(" ")}`;
  });
  return `${name}: ${told.join(", ")}`;
}
