import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import type { Credit, HeldAttempt, WorkerProfile } from "../../ports/messages.ts";
import { isStillWanted } from "../queue/sendable.ts";
import { candidate, changesOf, GATEWAY, only, ordersOf, START, Story } from "../testing/story.ts";

const NOTHING = { inFlight: [], journals: [], commands: [] };
const PROFILE: WorkerProfile = {
  workerId: "w1",
  name: "w1",
  pool: "default",
  handlers: ["echo"],
  capabilities: [],
  slots: 1,
  prefetch: 0,
};

/** An execution of a shard that is not in `avoid`. */
function outside(...avoid: number[]): Candidate {
  for (;;) {
    const row = candidate();
    if (!avoid.includes(row.shard)) return row;
  }
}

function roll(credit: Partial<Credit>): Credit[] {
  return [{ workerId: "w1", account: 1, granted: 1, highest: 1, missing: [], ...credit }];
}

describe("an owner that loses a shard", () => {
  it("writes and says nothing more of it, and goes on with the others", () => {
    const lost = candidate();
    const kept = outside(lost.shard);
    const story = new Story().hint(lost, kept).worker("w1", { slots: 2 });
    story.tell({ kind: "LOST", shards: [lost.shard] });
    const batch = story.commit();
    assert.deepEqual([...batch.shards.keys()], [kept.shard]);
    assert.deepEqual(
      batch.assigns.map(({ executionId }) => executionId),
      [kept.id],
    );
    assert.ok(!isStillWanted(story.state, { ...only(batch.assigns), executionId: lost.id }));
    assert.equal(story.state.entries.size, 1);
  });

  it("leaves results of it to the next owner, and does not refuse them", () => {
    const row = candidate();
    const story = new Story().hint(row).worker("w1");
    const assign = only(story.commit().assigns);
    story.tell({ kind: "LOST", shards: [row.shard] });
    story.finish(assign);
    assert.deepEqual(ordersOf(story.commit()), []);
  });

  it("believes nothing that was read before it took the shard back", () => {
    const row = candidate();
    const story = new Story();
    const mark = { since: story.batch.number, term: story.state.term };
    story.tell({ kind: "LOST", shards: [row.shard] });
    const epochs = new Map([[row.shard, 3]]);
    story.tell({ kind: "OWNED", term: 2, epochs, recovered: NOTHING, incarnation: "node-1" });
    story.tell({ kind: "READ_WAITING", rows: [row], ...mark });
    assert.equal(story.state.entries.size, 0);
    story.tell({ kind: "READ_WAITING", rows: [row], since: mark.since, term: 2 });
    assert.equal(story.state.entries.size, 1);
  });
});

describe("messages that are lost", () => {
  it("sends an assignment that did not arrive again, under its own number and token", () => {
    const story = new Story().hint(candidate()).worker("w1");
    const first = only(story.commit().assigns);
    const told = { kind: "CREDITS" as const, term: 1, roll: true, credits: roll({ highest: 0 }) };
    assert.deepEqual(story.gateway(told).commit().resends, [], "it may still be on its way");
    assert.deepEqual(only(story.later(2_000).gateway(told).commit().resends), first);
  });

  it("takes back numbers that stand for nothing any more", () => {
    const story = new Story().hint(candidate()).worker("w1");
    const assign = only(story.commit().assigns);
    story.finish(assign, { state: "RELEASED" }).commit();
    story.later(2_000).gateway({ kind: "CREDITS", term: 1, roll: true, credits: roll({ granted: 2, highest: 0 }) });
    const orders = ordersOf(story.commit());
    assert.ok(orders.some((order) => order.kind === "VOID" && order.credits.includes(1)));
  });

  it("asks who a worker is of whom it has only heard the credit", () => {
    const story = new Story().gateway({ kind: "CREDITS", term: 1, roll: true, credits: roll({}) });
    assert.deepEqual(ordersOf(story.commit()), [{ kind: "WHO", workerIds: ["w1"] }]);
  });

  it("ignores what was said before the gateway knew of all its shards", () => {
    const story = new Story();
    const epochs = new Map([[1, 2]]);
    story.tell({ kind: "OWNED", term: 2, epochs, recovered: NOTHING, incarnation: "node-1" });
    story.gateway({ kind: "WORKER_UP", term: 1, worker: PROFILE, connection: 1, account: 1, holds: [] });
    assert.equal(story.state.workers.get("w1"), undefined);
  });
});

describe("a worker that goes to another gateway", () => {
  it("is asked for there where its introduction was lost, and not waited for where it was", () => {
    const story = new Story().worker("w1");
    story.commit();
    const message = { kind: "CREDITS", term: 1, roll: true, credits: roll({}) } as const;
    story.tell({ kind: "GATEWAY", from: "gateway-2", message });
    assert.deepEqual(only(story.commit().toGateway), {
      node: "gateway-2",
      message: { kind: "WHO", workerIds: ["w1"] },
    });
  });

  const started = (): { story: Story; hold: HeldAttempt } => {
    const story = new Story().hint(candidate()).worker("w1");
    const assign = only(story.commit().assigns);
    story.started(assign).commit();
    const { shard, executionId, attempt } = assign;
    return { story, hold: { shard, executionId, attempt, startedAt: START } };
  };
  const elsewhere = (story: Story, connection: number, holds: HeldAttempt[]) =>
    story.tell({
      kind: "GATEWAY",
      from: "gateway-2",
      message: { kind: "WORKER_UP", term: 1, worker: PROFILE, connection, account: 9, holds },
    });

  it("keeps what it runs, whatever the first gateway says of the connection that it had", () => {
    const { story, hold } = started();
    elsewhere(story, 2, [hold]).lose("w1", "its connection broke", 1);
    assert.deepEqual(changesOf(story.commit()), []);
    assert.equal(story.state.workers.get("w1")?.gateway, "gateway-2");
  });

  it("is not drawn back by what the first one said late", () => {
    const { story, hold } = started();
    elsewhere(story, 2, [hold]).up(PROFILE, [], { connection: 1, account: 5 });
    assert.equal(story.state.workers.get("w1")?.gateway, "gateway-2");
  });

  it("keeps what it runs when its gateway is gone and another one reports an earlier connection", () => {
    const { story, hold } = started();
    elsewhere(story, 2, [hold]);
    story.tell({ kind: "GATEWAYS", nodes: [GATEWAY, "gateway-2"] }).tell({ kind: "GATEWAYS", nodes: [GATEWAY] });
    assert.equal(story.state.workers.get("w1"), undefined, "the owner searches for the worker");
    story.up(PROFILE, [], { connection: 1, account: 5 });
    assert.deepEqual(changesOf(story.commit()), [], "the gateway has not noticed the end of the earlier connection");
    story.up(PROFILE, [hold], { connection: 3, account: 6 });
    assert.deepEqual(changesOf(story.commit()), []);
    assert.equal(story.state.entries.get(hold.executionId)?.assigned?.worker?.gateway, GATEWAY);
  });

  it("keeps what it runs, although the owner was already searching for it because of another attempt", () => {
    const { story, hold } = started();
    elsewhere(story, 2, [hold]);
    const row = outside(hold.shard);
    const attempt = { attempt: 1, workerId: "w1", gateway: "gateway-2", assignedAt: START, attemptStartedAt: START };
    const inFlight = [{ row: { ...row, attempt: 1 }, ...attempt, journal: null }];
    story.tell({ kind: "LOST", shards: [row.shard] });
    const recovered = { inFlight, journals: [], commands: [] };
    story.tell({ kind: "OWNED", term: 2, epochs: new Map([[row.shard, 2]]), recovered, incarnation: "node-1" });
    story.tell({ kind: "GATEWAYS", nodes: [GATEWAY, "gateway-2"] }).tell({ kind: "GATEWAYS", nodes: [GATEWAY] });
    story.up(PROFILE, [], { connection: 1, account: 5 });
    assert.deepEqual(changesOf(story.commit()), [], "the gateway has not noticed the end of the earlier connection");
  });

  it("gets again what was sent to it through the first one and did not arrive", () => {
    const story = new Story().hint(candidate()).worker("w1");
    story.commit();
    elsewhere(story, 2, []);
    assert.equal(only(changesOf(story.commit())).queue, "READY");
  });

  it("is given up when its gateway has fallen silent and it does not come back", () => {
    const { story } = started();
    for (let passed = 0; passed <= 35_000; passed += 1_000) story.later(1_000);
    const change = changesOf(story.commit()).find(({ ended }) => ended[0]?.state === "WORKER_LOST");
    assert.match(change?.ended[0]?.error?.message ?? "", /not heard of/);
  });

  it("is counted on when it is back under the same account: no number is used twice", () => {
    const { story } = started();
    for (let passed = 0; passed <= 35_000; passed += 1_000) story.later(1_000);
    story.commit();
    story.up(PROFILE).credit("w1", 1).hint(candidate());
    assert.deepEqual(
      story.commit().assigns.map(({ credit }) => credit),
      [2],
    );
  });

  it("is counted on also when another gateway spoke of it in between, who had not noticed that it was gone", () => {
    const { story } = started();
    for (let passed = 0; passed <= 35_000; passed += 1_000) story.later(1_000);
    elsewhere(story, 0, []).commit();
    story.up(PROFILE).credit("w1", 1).hint(candidate());
    assert.deepEqual(
      story.commit().assigns.map(({ credit }) => credit),
      [2],
    );
  });

  it("is not given up by a judge who was away himself", () => {
    const { story } = started();
    story.later(40_000);
    assert.ok(story.state.workers.get("w1"));
  });
});

describe("credit between owners", () => {
  it("gives back what it cannot use when another owner needs it", () => {
    const story = new Story().worker("w1", { slots: 3 });
    story.gateway({ kind: "RECALL", term: 1, workers: [{ workerId: "w1", account: 1 }] });
    const orders = ordersOf(story.commit());
    assert.deepEqual(orders, [{ kind: "VOID", workerId: "w1", account: 1, credits: [1, 2, 3] }]);
    assert.deepEqual(story.hint(candidate()).assigned(), []);
  });

  it("uses first what it can", () => {
    const story = new Story().worker("w1", { slots: 2 }).hint(candidate());
    story.gateway({ kind: "RECALL", term: 1, workers: [{ workerId: "w1", account: 1 }] });
    const batch = story.commit();
    assert.equal(batch.assigns.length, 1);
    assert.deepEqual(ordersOf(batch), [{ kind: "VOID", workerId: "w1", account: 1, credits: [2] }]);
  });

  it("says what waits for credit, once, while it owns a part of the shards", () => {
    const row = candidate();
    const story = new Story().worker("w1", { slots: 1 }).credit("w1", -1);
    story.tell({ kind: "LOST", shards: [outside(row.shard).shard] });
    story.hint(row, outside(row.shard));
    assert.deepEqual(only(story.demands).pool, "default");
    story.tell();
    assert.equal(story.demands.length, 1);
  });

  it("says that nothing waits any more when it gives credit back, and says at once what waits after that", () => {
    const [first, second, third] = [candidate(), candidate(), candidate()];
    const story = new Story().worker("w1", { slots: 1 });
    story.tell({ kind: "LOST", shards: [outside(first.shard, second.shard, third.shard).shard] });
    story.hint(first, second);
    for (let n = 0; n < 2; n++) story.finish(only(story.commit().assigns));
    assert.equal(story.told.length, 1, "the second one waited");
    const told = story.told.length;
    story.gateway({ kind: "RECALL", term: 1, workers: [{ workerId: "w1", account: 1 }] }).commit();
    story.hint(third);
    assert.deepEqual(
      story.told.slice(told).map((demand) => demand.map(({ pool }) => pool)),
      [[], ["default"]],
    );
  });
});
