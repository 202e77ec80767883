import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ToldShare } from "../../ports/share-messages.ts";
import { candidate, only, Story } from "../testing/story.ts";
import { Others } from "./others.ts";

describe("the attempts that other owners have", () => {
  it("count with all owners, each smoothed by a half", () => {
    const others = new Others();
    others.hear("x", [{ pool: "p", tenant: "a", attempts: 4_000 }], 0);
    others.hear("y", [{ pool: "p", tenant: "a", attempts: 1_000 }], 0);
    assert.equal(others.of("p", "a"), 5_000);
    others.hear("x", [{ pool: "p", tenant: "b", attempts: 3_000 }], 1_000);
    assert.deepEqual([others.of("p", "a"), others.of("p", "b"), others.of("q", "a")], [3_000, 1_500, 0]);
    for (let second = 2; second < 20; second++) others.hear("x", [], second * 1_000);
    assert.deepEqual([others.of("p", "a"), others.of("p", "b")], [1_000, 0]);
  });

  it("count no more when their owner has told nothing for three seconds", () => {
    const others = new Others();
    others.hear("x", [{ pool: "p", tenant: "a", attempts: 4_000 }], 0);
    assert.equal(others.forgetSilent(3_000), false);
    assert.equal(others.forgetSilent(3_001), true);
    assert.equal(others.of("p", "a"), 0);
  });

  it("put a tenant behind those with fewer", () => {
    const story = new Story().tell({
      kind: "SHARES",
      from: "node-2",
      shares: [{ pool: "default", tenant: "a", attempts: 2_000 }],
    });
    for (const tenant of ["a", "b"]) story.hint(...Array.from({ length: 9 }, () => candidate({ tenant })));
    story.worker("w", { slots: 4 });
    const tenants = story.assigned().map((id) => story.state.entries.get(id)?.row.tenant);
    assert.deepEqual(tenants, ["b", "b", "a", "b"]);
  });
});

describe("the slot of an owner", () => {
  it("goes by virtual time between tenants whose attempts elsewhere have ended", () => {
    const story = new Story().tell({ kind: "WEIGHTS", weights: new Map([["b", 400]]) });
    const tell = (shares: ToldShare[]) => story.tell({ kind: "SHARES", from: "node-2", shares });
    const told = (tenant: string, attempts: number) => ({ pool: "default", tenant, attempts });
    tell([told("a", 150), told("b", 620)]);
    for (const tenant of ["a", "b"]) story.hint(...Array.from({ length: 12 }, () => candidate({ tenant })));
    story.worker("w", { slots: 1 });
    let order = "";
    for (let second = 0; second < 12; second++) {
      const assign = only(story.commit().assigns);
      order += story.state.entries.get(assign.executionId)?.row.tenant;
      story.later(1_000);
      tell([]);
      story.finish(assign, { startedAt: story.now - 1_000 });
    }
    assert.equal(order, "aabbbbbbbbab");
  });
});

describe("what an owner tells others", () => {
  it("is the average of the time since it last did so", () => {
    const story = new Story().worker("w", { slots: 3 });
    const { shares } = story.state;
    shares.report(story.now);
    story.hint(candidate({ tenant: "a" }), candidate({ tenant: "a" }), candidate({ tenant: "b" }));
    const assigns = story.commit().assigns;
    story.now += 250;
    for (const assign of assigns.slice(0, 1)) story.finish(assign, { startedAt: story.now - 250 });
    story.now += 750;
    assert.deepEqual(shares.report(story.now), [
      { pool: "default", tenant: "a", attempts: 1_250 },
      { pool: "default", tenant: "b", attempts: 1_000 },
    ]);
    assert.equal(shares.report(story.now + 400), null, "an announcement follows a change");
    assert.deepEqual(shares.report(story.now + 1_000)?.length, 2);
  });

  it("is nothing while no owner knows of a second tenant", () => {
    const story = new Story().worker("w").hint(candidate());
    const { shares } = story.state;
    only(story.commit().assigns);
    assert.equal(shares.report(story.now + 1_000), null);
    story.tell({ kind: "SHARES", from: "node-2", shares: [{ pool: "default", tenant: "acme", attempts: 1_000 }] });
    assert.deepEqual(shares.report(story.now + 2_000), [{ pool: "default", tenant: "default", attempts: 1_000 }]);
    story.tell({ kind: "SHARES", from: "node-2", shares: [{ pool: "default", tenant: "default", attempts: 1_000 }] });
    assert.equal(shares.report(story.now + 3_000), null, "the other one has answered this owner only");
  });
});
