import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SHARD_COUNT } from "../../domain/ids.ts";
import type { Assignment, FromGateway, WorkerProfile } from "../../ports/messages.ts";
import type { Input } from "../inputs.ts";
import { candidate, GATEWAY, only, ordersOf, START, Story } from "../testing/story.ts";

/** Time in ms after which the machine writes that an assignment has not started. */
const NOT_STARTED_MS = 2_000;
const OTHER: WorkerProfile = {
  workerId: "other",
  name: "other",
  pool: "default",
  handlers: ["echo"],
  capabilities: [],
  slots: 1,
  prefetch: 0,
};

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

/** A full sync, which shows that every assignment arrived. */
function hear(story: Story, workerId: string, { free, granted = 0 }: { free: number; granted?: number }): void {
  const credit = { workerId, account: 1, granted, highest: 100, missing: [], free, stuck: 0 };
  story.gateway({ kind: "CREDITS", term: story.state.term, roll: true, credits: [credit] });
}

function aSecondLater(story: Story): void {
  story.later(1_000).tell({ kind: "GATEWAYS", nodes: [GATEWAY] });
}

/** The worker "other" has a free slot that is allocated to another owner. */
function stranded(): { story: Story; waiting: Assignment } {
  const { story, waiting } = waitingAtFullWorker();
  shareShards(story);
  story.up(OTHER);
  hear(story, "other", { free: 1 });
  aSecondLater(story);
  assert.deepEqual(ordersOf(story.commit()), []);
  return { story, waiting };
}

function creditOfOther(story: Story): Input {
  const credits = [{ workerId: "other", account: 1, granted: 1, highest: 0, missing: [] }];
  return { kind: "GATEWAY", from: GATEWAY, message: { kind: "CREDITS", term: story.state.term, roll: false, credits } };
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
    assert.equal(only(ordersOf(story.commit())).kind, "TAKE_BACK");
    aSecondLater(story);
    assert.equal(story.state.stranded.size, 0);
  });

  it("is taken back as soon as credit comes that another owner asks for at once", () => {
    const { story, waiting } = stranded();
    story.tell(creditOfOther(story));
    story.gateway({ kind: "RECALL", term: story.state.term, workers: [{ workerId: "other", account: 1 }] });
    const { shard, executionId, attempt } = waiting;
    const tokens = [{ shard, executionId, attempt }];
    assert.deepEqual(ordersOf(story.commit()), [
      { kind: "TAKE_BACK", workerId: "full", tokens },
      { kind: "VOID", workerId: "other", account: 1, credits: [1] },
    ]);
    story.credit("other", 2);
    assert.deepEqual(ordersOf(story.commit()), [], "one order a second suffices");
  });

  it("is taken back although messages of credit came since the full sync", () => {
    const { story } = waitingAtFullWorker();
    story.up(OTHER);
    hear(story, "other", { free: 1 });
    story.tell(creditOfOther(story));
    story.credit("full", 1);
    aSecondLater(story);
    assert.equal(only(ordersOf(story.commit())).kind, "TAKE_BACK");
  });

  it("stays where ready work uses the credit", () => {
    const { story } = stranded();
    const row = candidate();
    story.tell({ kind: "HINTED", rows: [row] }, creditOfOther(story));
    const batch = story.commit();
    assert.deepEqual([only(batch.assigns).executionId, only(batch.assigns).workerId], [row.id, "other"]);
    assert.deepEqual(ordersOf(batch), []);
  });

  it("stays where the worker with the credit is lost in the same step", () => {
    const { story } = stranded();
    const lost = { kind: "WORKER_LOST", workerId: "other", connection: 1, reason: "test" } as const;
    story.tell(creditOfOther(story), { kind: "GATEWAY", from: GATEWAY, message: lost });
    assert.deepEqual(ordersOf(story.commit()), []);
  });

  it("stays where the free slots are those that the former gateway of the other worker counted", () => {
    const { story } = stranded();
    const { term } = story.state;
    const gateway = (message: FromGateway): Input => ({ kind: "GATEWAY", from: "gateway-2", message });
    const credits = [{ workerId: "other", account: 7, granted: 1, highest: 0, missing: [] }];
    story.tell(
      gateway({ kind: "WORKER_UP", term, worker: OTHER, connection: 2, account: 7, holds: [] }),
      gateway({ kind: "CREDITS", term, roll: false, credits }),
    );
    assert.deepEqual(ordersOf(story.commit()), []);
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
