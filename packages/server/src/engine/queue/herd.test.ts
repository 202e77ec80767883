import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hasRoom } from "../state.ts";
import { candidate, changesOf, only, START, Story } from "../testing/story.ts";

const T = START + 1_000;

/** Executions of the pool `herd` that fall due together at T. */
function herd(size: number) {
  return Array.from({ length: size }, () => candidate({ dueAt: T, pool: "herd" }));
}

/** An execution of the pool `default`, due a moment after the herd. */
function urgent(priority = 5) {
  return candidate({ dueAt: T + 500, priority });
}

describe("executions of one pool that fall due together", () => {
  for (const priority of [5, 9]) {
    it(`do not hold up one of another pool, of priority ${priority}, that no lane has room for either`, () => {
      const late = urgent(priority);
      const limits = { laneEntries: 100, batchOverflows: 50 };
      const story = new Story(limits).hint(...herd(2_000), late).worker("w1", { pool: "default", slots: 1 });
      story.later(1_000);
      assert.equal(changesOf(story.commit()).length, 50, "a batch returns a portion of the herd to the store");
      story.later(500);
      assert.deepEqual(story.assigned(), [late.id]);
    });
  }

  it("do not hold up one of another tenant in the same pool, which gets the next slot", () => {
    const late = candidate({ dueAt: T + 500, tenant: "quiet", pool: "herd", priority: 0 });
    const limits = { laneEntries: 100, batchOverflows: 50 };
    const story = new Story(limits).hint(...herd(2_000), late).worker("w1", { pool: "herd", slots: 1 });
    story.later(1_000);
    const [running] = story.commit().assigns;
    assert.ok(running !== undefined);
    story.later(500);
    assert.deepEqual(story.finish(running).assigned(), [late.id]);
  });

  it("do not hold it up where their own workers fill every batch", () => {
    const late = urgent();
    const limits = { laneEntries: 20, batchAssigns: 8 };
    const story = new Story(limits).hint(...herd(500), late);
    story.worker("w1", { pool: "herd", slots: 500 }).worker("w2", { slots: 1 });
    story.later(1_000);
    assert.equal(story.assigned().length, 8);
    story.later(500);
    const assigned = [...story.assigned(), ...story.assigned()];
    assert.ok(assigned.includes(late.id));
    assert.equal(assigned.length, 16);
  });

  it("wait in memory for the next batches in turns with another herd, and none of them is lost", () => {
    const [first, second] = [herd(300), herd(300).map((row) => ({ ...row, pool: "second" }))];
    const story = new Story({ laneEntries: 10, batchOverflows: 40 }).hint(...first, ...second);
    story.later(1_000);
    const batch = changesOf(story.commit());
    const [ofFirst] = [batch.filter(({ id }) => first.some((row) => row.id === id)).length];
    assert.deepEqual([batch.length, ofFirst], [40, 20]);
    let returned = batch.length;
    for (let i = 0; i < 20; i++) returned += changesOf(story.commit()).length;
    assert.equal(returned, 2 * (300 - 10));
    assert.equal(story.state.waiting.size, 0);
  });

  it("enter their lanes in portions, and the first portion is assigned before the rest enters", () => {
    const first = candidate({ dueAt: T, tenant: "quiet", pool: "herd" });
    const story = new Story({ stepDue: 10 }).hint(...herd(95), first).worker("w1", { pool: "herd", slots: 2 });
    story.later(1_000);
    assert.deepEqual([story.state.waiting.size, story.assigned().includes(first.id)], [86, true]);
    // The answer to the commit is the second step.
    let steps = 2;
    for (; story.wakeAt !== null && story.wakeAt <= story.now; steps++) story.tell();
    assert.deepEqual([story.state.waiting.size, steps], [0, 10]);
  });

  it("go back in portions too where they were due long before they were read", () => {
    const rows = herd(200).map((row) => ({ ...row, dueAt: START - 1_000 }));
    const story = new Story({ laneEntries: 10, batchOverflows: 40 });
    story.tell({ kind: "READ_WAITING", rows, since: 1, term: 1 });
    const batches = Array.from({ length: 6 }, () => changesOf(story.commit()).length);
    assert.deepEqual(batches, [40, 40, 40, 40, 30, 0]);
  });

  it("do not hold up the end of an attempt that runs too long", () => {
    const story = new Story({ laneEntries: 10, batchOverflows: 5 });
    story.hint(candidate({ pool: "herd", policy: { timeoutMs: 1_200 } })).worker("w1", { pool: "herd", slots: 1 });
    story.started(only(story.commit().assigns));
    story.hint(...herd(200)).later(1_000);
    story.commit();
    story.later(200);
    assert.deepEqual(
      story.commit().toGateway.map(({ message }) => message.kind),
      ["CANCEL"],
    );
  });

  it("stay in memory where workers run them, as far as their lane has four times its room", () => {
    const story = new Story({ laneEntries: 10, batchOverflows: 40 }).worker("w1", { pool: "herd", slots: 1 });
    story.hint(...herd(60)).later(1_000);
    const { assigns } = story.batch;
    assert.deepEqual([changesOf(story.commit()).length, assigns.length], [60 - 40 - 1, 1]);
    const unserved = new Story({ laneEntries: 10, batchOverflows: 60 }).hint(...herd(60)).later(1_000);
    assert.equal(changesOf(unserved.commit()).length, 50, "no worker runs them");
  });

  it("leave room in memory for executions of other pools that wait", () => {
    const story = new Story({ waiting: 100 }).hint(...herd(60));
    const room = (pool: string) => hasRoom(story.state, { tenant: "default", pool });
    assert.deepEqual([room("herd"), room("default")], [false, true]);
    story.hint(...herd(40));
    assert.equal(room("default"), false, "memory is full");
  });
});
