import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Contender } from "./contenders/contender.ts";
import { CONTENDERS } from "./contenders/contenders.ts";
import { mainspringClusters, mainspringDefault, mainspringInside } from "./contenders/mainspring/mainspring.ts";
import type { Case } from "./scenarios/scenario.ts";
import { takersOf } from "./session.ts";

const NONE = { ours: false, peers: false };
const item: Case = { name: "case", title: "case", measure: async () => ({}) };
const namesOf = (contenders: readonly Contender[]) => contenders.map(({ name }) => name);

describe("the contenders of a case", () => {
  it("are the chosen ones, and other settings of Mainspring and of peers where they are asked for", () => {
    const names = (hasVariants: typeof NONE, more: Partial<Case> = {}) =>
      namesOf(takersOf({ ...item, ...more }, { contenders: CONTENDERS, hasVariants }));
    const usual = ["mainspring", "mainspring-default", "mainspring-inside"];
    const peers = ["graphile", "pg-boss-2", "river", "bullmq-everysec"];
    assert.deepEqual(names(NONE), [...usual, ...peers]);
    assert.deepEqual(names({ ours: false, peers: true }).slice(3), [
      "graphile",
      "pg-boss-2",
      "pg-boss-4",
      "river",
      "bullmq-everysec",
      "bullmq-always",
    ]);
    assert.deepEqual(names({ ours: true, peers: false }).slice(5), peers);
    assert.equal(names(NONE, { hasVariants: true }).length, CONTENDERS.length);
    assert.deepEqual(names(NONE, { takes: ({ name }) => name === "river" }), ["river"]);
  });

  it("are of those that a case names the chosen ones, and all that nobody can choose", () => {
    const own = { ...item, contenders: [mainspringDefault, mainspringInside, ...mainspringClusters] };
    const names = namesOf(takersOf(own, { contenders: [mainspringInside], hasVariants: NONE }));
    assert.deepEqual(names, ["mainspring-inside", ...namesOf(mainspringClusters)]);
  });
});
