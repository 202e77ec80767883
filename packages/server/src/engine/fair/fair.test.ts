import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { InFlightRow } from "../../ports/store.ts";
import { SlotStage } from "../testing/slot-stage.ts";
import { candidate, only, Story } from "../testing/story.ts";

/** Random numbers of an exponential distribution with this mean. */
function exponential(seed: number, mean: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return -Math.log((state + 1) / 2 ** 32) * mean;
  };
}

function backlog(tenant: string, count: number, fields: Parameters<typeof candidate>[0] = {}) {
  return Array.from({ length: count }, () => candidate({ tenant, ...fields }));
}

function tenantsOf(story: Story, ids: readonly string[]): string {
  return ids.map((id) => story.state.entries.get(id)?.row.tenant).join("");
}

function runningOf({ state }: Story, tenant: string): number | undefined {
  return state.shares.of("default")?.byTenant.get(tenant)?.running;
}

describe("the slots of a pool with several tenants", () => {
  it("go to tenants of equal weight alike, whatever priority their work has", () => {
    const story = new Story().worker("w", { slots: 6 });
    story.state.limits.batchAssigns = 0;
    story.hint(...backlog("a", 9, { priority: 0 }), ...backlog("b", 9, { priority: 9 }), ...backlog("c", 9));
    story.state.limits.batchAssigns = 100;
    story.tell();
    assert.equal(tenantsOf(story, story.assigned()), "abcabc");
  });

  it("go to tenants in proportion to their weights", () => {
    const story = new Story().tell({ kind: "WEIGHTS", weights: new Map([["b", 300]]) });
    story.hint(...backlog("a", 20), ...backlog("b", 20)).worker("w", { slots: 12 });
    const order = tenantsOf(story, story.assigned());
    assert.equal([...order].filter((tenant) => tenant === "b").length, 9, order);
  });

  it("go to tenants in fair order where work may wait at workers, too", () => {
    const story = new Story().worker("w", { slots: 3, prefetch: 3 });
    story.state.limits.batchAssigns = 0;
    story.hint(...backlog("a", 9), ...backlog("b", 9));
    story.state.limits.batchAssigns = 100;
    story.tell();
    assert.equal(tenantsOf(story, story.assigned()), "ababab");
  });

  it("follow a change of the weights at the next assignment", () => {
    const story = new Story().hint(...backlog("a", 20), ...backlog("b", 20)).worker("w", { slots: 4 });
    assert.equal(runningOf(story, "a"), 2);
    story.tell({ kind: "WEIGHTS", weights: new Map([["a", 400]]) }).credit("w", 4);
    assert.equal(runningOf(story, "a"), 6);
  });

  it("are free for others when an attempt has ended, and a released attempt costs its tenant nothing", () => {
    const story = new Story().hint(...backlog("a", 2)).worker("w", { slots: 2 });
    const [ended, released] = story.commit().assigns;
    assert.ok(ended && released);
    const share = story.state.entries.get(released.executionId)?.assigned?.share;
    assert.deepEqual([share?.running, share?.time], [2, 2]);
    story.tell(story.finished(released, { state: "RELEASED", startedAt: null }));
    assert.deepEqual([share?.running, share?.time], [1, 1]);
    story.tell(story.finished(ended, { startedAt: story.now - 0 }));
    assert.deepEqual([share?.running, share?.time], [0, 1]);
  });

  it("count attempts that an earlier owner has assigned", () => {
    const story = new Story();
    const inFlight = backlog("a", 3).map((row): InFlightRow => {
      Object.assign(row, { state: "RUNNING", queue: "HELD" });
      return {
        row,
        workerId: "old",
        gateway: "g",
        attempt: 1,
        assignedAt: story.now,
        attemptStartedAt: null,
        journal: null,
      };
    });
    const epochs = new Map(Array.from({ length: 64 }, (_, shard) => [shard, 2]));
    story.tell({
      kind: "OWNED",
      term: 2,
      epochs,
      recovered: { inFlight, journals: [], commands: [] },
      incarnation: "n",
    });
    assert.equal(runningOf(story, "a"), 3);
    story.hint(...backlog("a", 5), ...backlog("b", 5)).worker("w", { slots: 5 });
    assert.equal(tenantsOf(story, story.assigned()), "bbbab");
    story.tell({ kind: "LOST", shards: [...epochs.keys()] });
    assert.equal(story.state.shares.of("default"), undefined);
  });

  it("give an idle tenant no credit for the time in which it had nothing to do", () => {
    const story = new Story().worker("w", { slots: 1 }).hint(...backlog("b", 1));
    const end = (ms: number) => {
      const assign = only(story.commit().assigns);
      const tenant = story.state.entries.get(assign.executionId)?.row.tenant;
      story.now += ms;
      story.finish(assign, { startedAt: story.now - ms });
      return tenant;
    };
    story.hint(...backlog("a", 50));
    const order = [];
    for (let n = 0; n < 10; n++) order.push(end(1_000));
    story.hint(...backlog("b", 50));
    for (let n = 0; n < 12; n++) order.push(end(1_000));
    assert.equal(order.slice(10).filter((tenant) => tenant === "b").length, 6, order.join(""));
  });

  for (const [slots, ms] of [
    [1, 2_000_000],
    [3, 1_000_000],
    [10, 300_000],
    [100, 40_000],
  ] as const) {
    it(`are used alike with runs of 0.1 s and of 10 s and ${slots} slots`, () => {
      const short = { tenant: "short", runMs: () => 100 };
      const stage = new SlotStage(slots, [{ tenant: "long", runMs: () => 10_000 }, short]).run(ms);
      const part = stage.partOf("short");
      assert.ok(part > 0.45 && part < 0.55, `the short runs had ${part}`);
    });
  }

  it("leave a quiet tenant beside runs of a minute waiting for the next slot only", () => {
    const stage = new SlotStage(100, [
      { tenant: "noisy", runMs: exponential(1, 60_000) },
      { tenant: "quiet", runMs: () => 200, everyMs: exponential(2, 500) },
    ]).run(900_000);
    const [p50, p99] = [stage.waitOf("quiet", 0.5), stage.waitOf("quiet", 0.99)];
    assert.ok(p50 < 700 && p99 < 5_000, `p50 ${p50} ms, p99 ${p99} ms`);
  });
});
