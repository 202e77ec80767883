import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SHARD_COUNT } from "../../domain/ids.ts";
import type { Assignment } from "../../ports/messages.ts";
import { candidate, GATEWAY, only, ordersOf, START, Story } from "../testing/story.ts";

/** Time in ms after which the machine writes that an assignment has not started. */
const NOT_STARTED_MS = 2_000;

/** A worker with one slot and prefetch runs the first execution, and the second one waits there. */
function waitingAtFullWorker(): { story: Story; waiting: Assignment } {
  const story = new Story().hint(candidate({ dueAt: START - 2 }), candidate({ dueAt: START - 1 }));
  story.worker("full", { slots: 1, prefetch: 4 });
  const [running, waiting] = story.commit().assigns as [Assignment, Assignment];
  story.started(running).commit();
  story.later(NOT_STARTED_MS).commit();
  hear(story, "full", { free: 0 });
  return { story, waiting };
}

/** Takes shards without work from the node, because the owner of all shards needs no demand. */
function shareShards(story: Story): void {
  const used = new Set([...story.state.entries.values()].map(({ row }) => row.shard));
  const shard = Array.from({ length: SHARD_COUNT }, (_, index) => index).find((index) => !used.has(index)) as number;
  story.tell({ kind: "LOST", shards: [shard] });
}

function hear(story: Story, workerId: string, { free, granted = 0 }: { free: number; granted?: number }): void {
  const credit = { workerId, account: 1, granted, highest: 0, missing: [], free, stuck: 0 };
  story.gateway({ kind: "CREDITS", term: story.state.term, roll: false, credits: [credit] });
}

function aSecondLater(story: Story): void {
  story.later(1_000).tell({ kind: "GATEWAYS", nodes: [GATEWAY] });
}

describe("an attempt that waits at a full worker", () => {
  it("is taken back once another worker has a free slot for this owner", () => {
    const { story, waiting } = waitingAtFullWorker();
    aSecondLater(story);
    assert.deepEqual(ordersOf(story.commit()), []);
    story.worker("other");
    hear(story, "other", { free: 1 });
    aSecondLater(story);
    const { shard, executionId, attempt } = waiting;
    const tokens = [{ shard, executionId, attempt }];
    assert.deepEqual(only(ordersOf(story.commit())), { kind: "TAKE_BACK", workerId: "full", tokens });
  });

  it("stays where the worker is about to start it", () => {
    const { story } = waitingAtFullWorker();
    hear(story, "full", { free: 1 });
    story.worker("other");
    hear(story, "other", { free: 1 });
    aSecondLater(story);
    assert.deepEqual(ordersOf(story.commit()), []);
  });

  it("is demand for credit where the free slots of other workers are allocated to other owners", () => {
    const { story, waiting } = waitingAtFullWorker();
    shareShards(story);
    const rank = story.state.entries.get(waiting.executionId)?.row.rank;
    story.worker("other", { slots: 0 });
    hear(story, "other", { free: 1 });
    story.told.splice(0);
    aSecondLater(story);
    assert.deepEqual(story.told, [[{ pool: "default", rank }]]);
    hear(story, "other", { free: 1, granted: 1 });
    aSecondLater(story);
    assert.equal(only(ordersOf(story.commit())).kind, "TAKE_BACK");
    assert.equal(story.state.stranded.size, 0);
  });

  it("is no demand while every worker is full", () => {
    const { story } = waitingAtFullWorker();
    shareShards(story);
    story.worker("other", { slots: 0 });
    hear(story, "other", { free: 0 });
    story.told.splice(0);
    aSecondLater(story);
    assert.deepEqual(story.told, []);
  });
});
