import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CONTENDERS } from "../contenders/contenders.ts";
import type { FigureName } from "../figures.ts";
import type { CaseResult } from "../measured.ts";
import { SCENARIOS } from "../scenarios/scenarios.ts";
import { GOALS } from "./goals.ts";
import { judgeGoals } from "./judge-goals.ts";
import { contenderOf } from "./words.ts";

const CASE = "drain-200k";
const ABSOLUTE = 67_000;

const cases = SCENARIOS.flatMap(({ cases: of }) =>
  of({
    isQuick: false,
    herdJobs: 1,
    tenants: 1,
    sleepers: 1,
    perSec: 5_000,
    storedJobs: [1, 2],
    backlogJobs: 1_000_000,
  }),
);

it("a report knows the contenders of every case", () => {
  for (const contender of cases.flatMap((item) => item.contenders ?? []))
    assert.equal(contenderOf(contender.name).title, contender.title);
});

describe("goals", () => {
  it("are of cases and contenders that there are", () => {
    const contenders = [...CONTENDERS, ...cases.flatMap((item) => item.contenders ?? [])];
    for (const { case: name, contender } of GOALS) {
      assert.ok(
        cases.some((item) => item.name.startsWith(name)),
        name,
      );
      assert.ok(
        contenders.some((item) => item.name === contender),
        contender,
      );
    }
  });

  it("are reached by the figure, and by the ratio to the best peer on a slower machine", () => {
    assert.equal(verdictOf({ mainspring: ABSOLUTE, graphile: ABSOLUTE * 2 }), "yes");
    assert.equal(verdictOf({ mainspring: 40_200, graphile: 40_000, "pg-boss-2": 20_000 }), "against the peers");
    assert.equal(verdictOf({ mainspring: 39_000, graphile: 40_000 }), "no");
  });

  it("are not reached against peers that nobody measured", () => {
    assert.equal(verdictOf({ mainspring: ABSOLUTE - 1 }), "no");
  });
});

function verdictOf(rates: Record<string, number>): string | undefined {
  const outcomes = Object.entries(rates).map(([contender, rate]) => ({
    contender,
    occasions: [],
    spreads: { jobsPerSec: { min: rate, median: rate, max: rate } } satisfies Partial<Record<FigureName, object>>,
  }));
  const result: CaseResult = { scenario: "drain", name: CASE, title: CASE, outcomes };
  return judgeGoals([result]).find(({ goal }) => goal.contender === "mainspring")?.reached;
}
