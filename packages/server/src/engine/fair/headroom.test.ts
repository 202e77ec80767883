import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultPool } from "../../domain/pool.ts";
import { explain } from "../explain.ts";
import { SlotStage } from "../testing/slot-stage.ts";
import { candidate, Story } from "../testing/story.ts";

const TENANTS = new Map([
  ["noisy", 100],
  ["quiet", 100],
]);

function settingOf(headroom: number) {
  return { kind: "POOLS", pools: [{ ...defaultPool("default"), headroom }] } as const;
}

/** A pool with a fifth of its slots as headroom, and ten slots. @param prefetch executions that may wait at the worker */
function pool(weights: ReadonlyMap<string, number> = TENANTS, prefetch = 0): Story {
  return new Story()
    .tell(settingOf(20), { kind: "WEIGHTS", weights })
    .worker("w", { slots: 10, prefetch, autoPrefetch: prefetch > 0 });
}

function backlog(tenant: string, count: number) {
  return Array.from({ length: count }, () => candidate({ tenant }));
}

/** Random numbers of an exponential distribution with this mean. */
function exponential(seed: number, mean: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return -Math.log((state + 1) / 2 ** 32) * mean;
  };
}

describe("the headroom of a pool", () => {
  it("is kept from a tenant with many attempts, and given to tenants with few", () => {
    const story = pool().hint(...backlog("noisy", 20));
    assert.equal(story.assigned().length, 8);
    story.hint(...backlog("quiet", 5));
    assert.equal(story.assigned().length, 1, "each tenant with attempts may use the same part");
    story.hint(...backlog("third", 5));
    assert.equal(story.assigned().length, 1);
  });

  it("is kept from work that would wait at a worker, too", () => {
    const story = pool(TENANTS, 10).hint(...backlog("noisy", 40));
    assert.equal(story.assigned().length, 8);
  });

  it("is a part of the slots that can be given now", () => {
    const story = pool().worker("leaving", { slots: 20 });
    story.gateway({ kind: "WORKER_DRAINING", workerId: "leaving" }).hint(...backlog("noisy", 20));
    assert.equal(story.assigned().length, 8);
  });

  it("is for all where there is the default tenant only", () => {
    const story = pool(new Map([["default", 100]])).hint(...backlog("default", 20));
    assert.equal(story.assigned().length, 10);
  });

  it("comes back when attempts end, and no further attempt takes it", () => {
    const story = pool().hint(...backlog("noisy", 20));
    const [first] = story.commit().assigns;
    assert.ok(first !== undefined);
    assert.equal(story.finish(first).assigned().length, 1);
  });

  it("takes effect on the next assignment when it is set, and is given away when it is taken back", () => {
    const story = pool()
      .tell(settingOf(50))
      .hint(...backlog("noisy", 20));
    assert.equal(story.assigned().length, 5);
    assert.equal(story.tell(settingOf(0)).assigned().length, 5);
  });

  it("is a turn of others for the tenant from which it is kept", () => {
    const rows = backlog("noisy", 20);
    const story = pool().hint(...rows);
    const row = rows.at(-1) ?? candidate();
    const reasons = explain(story.state, row, story.now).map(({ reason }) => reason);
    assert.deepEqual(reasons, ["TENANT_TURN", "QUEUED"]);
  });

  for (const [noisy, most] of [
    [1, 0],
    [2, 0],
    [5, 500],
  ] as const) {
    it(`lets a quiet tenant start at once beside ${noisy} with runs of a minute`, () => {
      const names = Array.from({ length: noisy }, (_, n) => `noisy ${n}`);
      const acts = [
        ...names.map((tenant, n) => ({ tenant, runMs: exponential(n + 1, 60_000) })),
        { tenant: "quiet", runMs: () => 200, everyMs: exponential(9, 500) },
      ];
      const stage = new SlotStage(100, acts, { quiet: 100 });
      stage.story.tell(settingOf(10));
      stage.run(600_000);
      const [p50, p99] = [stage.waitOf("quiet", 0.5), stage.waitOf("quiet", 0.99)];
      assert.ok(p50 === 0 && p99 <= most, `p50 ${p50} ms, p99 ${p99} ms`);
    });
  }
});
