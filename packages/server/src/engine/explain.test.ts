import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { levelOf } from "../domain/cluster/feature-level.ts";
import type { Candidate } from "../domain/execution.ts";
import { defaultPool } from "../domain/pool.ts";
import { explain, understoodReasons } from "./explain.ts";
import { candidate, only, START, Story } from "./testing/story.ts";

const reasonsOf = (story: Story, row: Candidate) => explain(story.state, row, story.now);
const namesOf = (story: Story, row: Candidate) => reasonsOf(story, row).map(({ reason }) => reason);

describe("why an execution waits", () => {
  it("because its time has not come", () => {
    const row = candidate({ dueAt: START + 5_000 });
    const story = new Story().worker("w1").hint(row);
    assert.deepEqual(reasonsOf(story, row), [{ reason: "DUE_LATER", dueAt: START + 5_000 }]);
  });

  it("because nobody offers its handler, and because nobody who does has what it requires", () => {
    const story = new Story().worker("w1", { capabilities: ["gpu"] }).worker("w2", { capabilities: ["region=eu"] });
    const other = candidate({ handler: "render" });
    const picky = candidate({ requires: ["gpu", "region=eu"] });
    const lost = candidate({ requires: ["gpu", "tpu"] });
    story.hint(other, picky, lost);
    assert.deepEqual(reasonsOf(story, other)[0], {
      ...{ reason: "NO_WORKER_FOR_HANDLER", pool: "default", handler: "render", workersInPool: 2 },
    });
    const [byCloseness] = reasonsOf(story, picky);
    assert.ok(byCloseness?.reason === "NO_WORKER_WITH_CAPABILITY");
    assert.equal(byCloseness.missing.length, 1, "each is there, but not together");
    const [byNobody] = reasonsOf(story, lost);
    assert.ok(byNobody?.reason === "NO_WORKER_WITH_CAPABILITY");
    assert.deepEqual([byNobody.missing, byNobody.workersWithHandler], [["tpu"], 2]);
  });

  it("because all slots are taken, and says how many go first", () => {
    const story = new Story().worker("w1");
    const rows = [candidate(), candidate(), candidate()] as const;
    story.hint(...rows);
    assert.deepEqual(namesOf(story, rows[0]), ["ASSIGNED"]);
    assert.deepEqual(reasonsOf(story, rows[2]), [
      { reason: "ALL_SLOTS_BUSY", workers: 1, draining: 0, slots: 1, held: 1 },
      { reason: "QUEUED", ahead: 1, known: 2 },
    ]);
    story.gateway({ kind: "WORKER_DRAINING", workerId: "w1" });
    const [busy] = reasonsOf(story, rows[1]);
    assert.ok(busy?.reason === "ALL_SLOTS_BUSY");
    assert.equal(busy.draining, 1);
  });

  it("because its pool is paused", () => {
    const paused = { ...defaultPool("default"), paused: true };
    const row = candidate();
    const story = new Story()
      .tell({ kind: "POOLS", pools: [paused] })
      .worker("w1")
      .hint(row);
    assert.deepEqual(namesOf(story, row), ["POOL_PAUSED", "QUEUED"]);
  });

  it("because its key is at its limit, and says who holds it", () => {
    const story = new Story().worker("w1", { slots: 5 });
    const [holder, waiting] = [candidate({ concurrencyKey: "acme" }), candidate({ concurrencyKey: "acme" })];
    story.hint(holder, waiting);
    assert.deepEqual(reasonsOf(story, waiting)[0], {
      ...{ reason: "KEY_AT_LIMIT", key: "acme", limit: 1, running: 1 },
      heldBy: [{ executionId: holder.id, attempt: 1, workerId: "w1" }],
    });
  });

  it("because it failed, until when", () => {
    const row = candidate({ policy: { retry: { ...candidate().policy.retry, initialDelayMs: 4_000, jitter: false } } });
    const story = new Story().worker("w1").hint(row);
    story.finish(only(story.commit().assigns), { state: "FAILED" });
    story.commit();
    assert.deepEqual(reasonsOf(story, row), [{ reason: "BACKOFF", until: START + 4_000, failures: 1, maxAttempts: 5 }]);
  });

  it("not at all: it runs, or is to be stopped", () => {
    const row = candidate({ policy: { timeoutMs: 9_000 } });
    const story = new Story().worker("w1").hint(row);
    story.started(only(story.commit().assigns));
    const running = { reason: "RUNNING", attempt: 1, workerId: "w1", startedAt: START, timesOutAt: START + 9_000 };
    assert.deepEqual(reasonsOf(story, row), [running]);
    const command = { id: "c1", shard: row.shard, kind: "CANCEL", executionId: row.id } as const;
    story.tell({ kind: "COMMANDS", commands: [command] });
    assert.deepEqual(namesOf(story, row), ["CANCEL_REQUESTED", "RUNNING"]);
  });

  it("because its worker has had no free slot for over a second", () => {
    const row = candidate();
    const story = new Story().worker("w1", { prefetch: 1 }).hint(row);
    story.commit();
    const list = (slots: { free?: number; stuck?: number }) => {
      const credits = [{ workerId: "w1", account: 1, granted: 2, highest: 1, missing: [], ...slots }];
      story.gateway({ kind: "CREDITS", term: 1, roll: true, credits });
    };
    list({ free: 0, stuck: 1 });
    assert.deepEqual(namesOf(story, row), ["ASSIGNED"], "it may be about to start");
    story.later(1_001);
    const noSlot = { reason: "WORKER_HAS_NO_FREE_SLOT", workerId: "w1", stuck: 1 } as const;
    assert.deepEqual(reasonsOf(story, row), [
      { reason: "ASSIGNED", attempt: 1, workerId: "w1", assignedAt: START },
      noSlot,
    ]);
    const since = levelOf("NO_FREE_SLOT_REASON");
    const told = (level: number) => understoodReasons(reasonsOf(story, row), level).map(({ reason }) => reason);
    assert.deepEqual(told(since), ["ASSIGNED", "WORKER_HAS_NO_FREE_SLOT"]);
    assert.deepEqual(told(since - 1), ["ASSIGNED"], "a node of the cluster would not understand the answer");
    list({ free: 1 });
    assert.deepEqual(namesOf(story, row), ["ASSIGNED"]);
    list({});
    assert.deepEqual(namesOf(story, row), ["ASSIGNED"], "the gateway does not say");
  });

  it("in the store, behind what its owner has at hand", () => {
    const story = new Story({ laneEntries: 1 });
    const [first, second] = [candidate(), candidate({ dueAt: START - 1 })];
    story.hint(second, first);
    assert.deepEqual(reasonsOf(story, first).at(-1), { reason: "QUEUED", ahead: null, known: 1 });
  });
});
