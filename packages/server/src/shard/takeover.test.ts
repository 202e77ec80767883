import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Assignment } from "../ports/messages.ts";
import type { Recovered } from "../ports/store.ts";
import { Patience } from "./patience.ts";
import { candidate, changesOf, GATEWAY, only, ordersOf, START, Story } from "./testing/story.ts";

describe("a takeover", () => {
  const inFlight = (
    workerId: string,
    policy = {},
    gateway = GATEWAY,
    gateways = [GATEWAY],
    {
      startedAt = null as number | null,
      story = new Story(),
      state = "PENDING" as "PENDING" | "RUNNING",
      epoch = 2,
      like = {} as { id?: string; shard?: number },
    } = {},
  ) => {
    const row = { ...candidate({ policy, state }), ...like };
    const recovered: Recovered = {
      inFlight: [
        {
          row,
          attempt: 1,
          workerId,
          gateway,
          assignedAt: START - 500,
          attemptStartedAt: startedAt,
          journal: { epoch: 0, seq: 9 },
        },
      ],
      journals: [{ shard: row.shard, ref: { epoch: 0, seq: 9 }, unsettled: 1 }],
      commands: [],
    };
    story.tell({ kind: "GATEWAYS", nodes: gateways }).tell({
      kind: "OWNED",
      term: epoch,
      epochs: new Map([[row.shard, epoch]]),
      recovered,
      incarnation: "node-2",
    });
    return { row, story };
  };
  const endOf = (story: Story) => only(only(changesOf(story.commit())).ended).state;
  /** To the millisecond: nothing is written before. */
  const losesWorkerAfter = (story: Story, waitMs: number) => {
    assert.deepEqual(changesOf(story.later(waitMs - 1).commit()), []);
    assert.equal(endOf(story.later(1)), "WORKER_LOST");
  };
  const profile = {
    workerId: "w1",
    name: "w1",
    pool: "default",
    handlers: ["echo"],
    capabilities: [],
    slots: 1,
    prefetch: 0,
  };

  it("adopts what the worker still holds and takes its result", () => {
    const { row, story } = inFlight("w1");
    const token = { shard: row.shard, executionId: row.id, attempt: 1 };
    story.up(profile, [{ ...token, startedAt: START - 400 }]);
    assert.deepEqual(changesOf(story.commit()), []);
    story.finish({ ...token, workerId: "w1" } as Assignment);
    const batch = story.commit();
    assert.equal(only(changesOf(batch)).state, "SUCCEEDED");
    assert.deepEqual(batch.shards.get(row.shard)?.settledJournals, [{ epoch: 0, seq: 9 }]);
  });

  it("is not confused by an older attempt of the same execution, whose result was not acknowledged", () => {
    const { row, story } = inFlight("w1");
    const token = { shard: row.shard, executionId: row.id };
    story.up(profile, [
      { ...token, attempt: 1, startedAt: START - 400 },
      { ...token, attempt: 0, startedAt: START - 900 },
    ]);
    const batch = story.commit();
    assert.deepEqual(changesOf(batch), []);
    assert.equal(only(ordersOf(batch)).kind, "REFUSED");
  });

  it("runs elsewhere what never arrived", () => {
    const { story } = inFlight("w1");
    story.up(profile, []).credit("w1", 1);
    assert.equal(only(story.commit().assigns).attempt, 2);
  });

  it("waits a little for another gateway to say that the worker is there, if the one that was used is gone", () => {
    const { story } = inFlight("w1", {}, "gateway-0");
    story.up(profile, []).credit("w1", 1);
    assert.deepEqual(story.commit().assigns, []);
    assert.equal(only(story.later(5_000).commit().assigns).attempt, 2);
  });

  it("hears from a gateway that lives that the worker is not there any more, while another has it", () => {
    const { story } = inFlight("w1", {}, "gateway-0");
    story
      .tell({ kind: "GATEWAYS", nodes: ["gateway-0", GATEWAY] })
      .up(profile, [], { connection: 2 })
      .credit("w1", 1);
    const lost = { kind: "WORKER_LOST" as const, workerId: "w1", connection: 1, reason: "test" };
    story.tell({ kind: "GATEWAY", from: "gateway-0", message: lost });
    assert.equal(only(story.later(5_000).commit().assigns).attempt, 2);
  });

  it("waits for a gateway that lives and has not answered", () => {
    const { story } = inFlight("w1", {}, "gateway-0");
    story
      .tell({ kind: "GATEWAYS", nodes: ["gateway-0", GATEWAY] })
      .up(profile, [])
      .credit("w1", 1);
    assert.deepEqual(story.later(4_000).commit().assigns, []);
  });

  it("waits no longer for a gateway that has died since", () => {
    const { story } = inFlight("w1", {}, "gateway-0", ["gateway-0", GATEWAY]);
    story
      .up(profile, [], { connection: 2 })
      .later(1_000)
      .tell({ kind: "GATEWAYS", nodes: [GATEWAY] });
    assert.deepEqual(
      changesOf(
        story
          .later(4_000)
          .tell({ kind: "GATEWAYS", nodes: [GATEWAY] })
          .commit(),
      ),
      [],
    );
    assert.equal(endOf(story.later(1_000)), "RELEASED");
  });

  it("waits for a gateway that it had taken for dead, from the moment on at which it lives", () => {
    const { story } = inFlight("w1", {}, "gateway-0", [GATEWAY]);
    const both = { kind: "GATEWAYS" as const, nodes: ["gateway-0", GATEWAY] };
    story.up(profile, [], { connection: 1 }).later(4_000).tell(both).later(20_000).tell(both);
    losesWorkerAfter(story, 10_000);
  });

  describe("of what was sent to a worker through a gateway that it has left", () => {
    const both = ["gateway-0", GATEWAY];
    const leave = (story: Story, connection: number) =>
      story.tell({
        kind: "GATEWAY",
        from: "gateway-0",
        message: { kind: "WORKER_LOST", workerId: "w1", connection, reason: "it was sent to another gateway" },
      });

    it("releases what the worker says that it does not have", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both);
      leave(story.up(profile, [], { connection: 2 }), 1).later(5_000);
      assert.equal(endOf(story), "RELEASED");
    });

    it("believes nothing of what the worker had said before: it may have taken it to its next gateway", () => {
      const story = new Story().up(profile, [], { connection: 2 });
      inFlight("w1", {}, "gateway-0", both, { story });
      leave(story, 1).later(5_000);
      assert.deepEqual(changesOf(story.commit()), [], "that gateway will say whether it has it");
      story.later(25_000);
      assert.equal(endOf(story), "WORKER_LOST");
    });

    it("releases it when its next gateway answers at last", () => {
      const story = new Story().up(profile, [], { connection: 2 });
      inFlight("w1", {}, "gateway-0", both, { story });
      leave(story, 1).later(9_000).up(profile, [], { connection: 2 }).later(5_000);
      assert.equal(endOf(story), "RELEASED");
    });

    it("does not believe a gateway at which the worker was before", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both);
      leave(story.up(profile, [], { connection: 1 }), 2).later(5_000);
      assert.equal(endOf(story), "WORKER_LOST");
    });

    it("never releases what is known to have begun", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both, { startedAt: START - 400 });
      leave(story.up(profile, [], { connection: 2 }), 1).later(5_000);
      assert.equal(endOf(story), "WORKER_LOST");
    });
  });

  it("asks a gateway that is silent on what its worker has, also if it knew the worker before", () => {
    const story = new Story().up(profile).credit("w1", 1);
    const { row } = inFlight("w1", {}, GATEWAY, [GATEWAY], { story });
    // What the gateway said of the worker in answer to the takeover was lost; the roll arrives.
    const credits = [{ workerId: "w1", account: 1, granted: 1, highest: 0, missing: [] }];
    story.gateway({ kind: "CREDITS", term: 2, roll: true, credits });
    assert.deepEqual(ordersOf(story.commit()), [{ kind: "WHO", workerIds: ["w1"] }]);
    story.up(profile, [{ shard: row.shard, executionId: row.id, attempt: 1, startedAt: START - 400 }]);
    assert.equal(only(changesOf(story.later(30_000).commit())).state, "RUNNING");
  });

  it("waits as long as ever for a worker of which it hears only that it has begun: it may take longer than an attempt may", () => {
    const { row, story } = inFlight("w1", { timeoutMs: 12_000 }, GATEWAY, [GATEWAY], { state: "RUNNING" });
    const token = { shard: row.shard, executionId: row.id, attempt: 1 };
    story.started({ ...token, workerId: "w1" } as Assignment);
    assert.deepEqual(changesOf(story.later(29_999).commit()), []);
    const kinds = () => ordersOf(story.commit()).map(({ kind }) => kind);
    story.up(profile, [{ ...token, startedAt: START }]);
    assert.deepEqual(kinds(), ["CANCEL"], "its time is over");
  });

  it("waits for a worker before it declares it lost", () => {
    const { story } = inFlight("w1");
    story.worker("w2");
    assert.deepEqual(story.later(29_999).assigned(), []);
    assert.equal(only(story.later(1).commit().assigns).attempt, 2);
  });

  describe("by the owner that had the shard before", () => {
    const patience = () => {
      const kept = new Patience();
      kept.look(0, START);
      return kept;
    };
    /** The shard was taken over, twenty seconds ago, and its worker has not been heard of. */
    const silent = (kept: Patience) => {
      const story = new Story({}, kept);
      const { row } = inFlight("w1", {}, GATEWAY, [GATEWAY], { story });
      for (let second = 1; second <= 20; second++) kept.look(second * 1_000, START + second * 1_000);
      return { like: { id: row.id, shard: row.shard }, story: story.later(20_000) };
    };
    const again = (story: Story, like: { id: string; shard: number }, epoch: number) => {
      inFlight("w1", {}, GATEWAY, [GATEWAY], { story, epoch, like });
      return story;
    };

    it("goes on waiting for a silent worker where it was", () => {
      const { like, story } = silent(patience());
      story.tell({ kind: "LOST", shards: [like.shard] });
      again(story, like, 3);
      losesWorkerAfter(story, 10_000);
    });

    it("does so with another machine too, and gives everybody time to answer it", () => {
      const kept = patience();
      const { like, story } = silent(kept);
      story.later(8_000);
      kept.look(22_000, story.now - 6_000);
      kept.look(24_000, story.now - 4_000);
      kept.look(26_000, story.now - 2_000);
      const next = new Story({}, kept);
      kept.leave(story.state, new Set([like.shard]), story.now);
      next.now = story.now;
      again(next, like, 3);
      losesWorkerAfter(next, 5_000);
    });

    it("knows nothing where another had it in between", () => {
      const { like, story } = silent(patience());
      story.tell({ kind: "LOST", shards: [like.shard] });
      again(story, like, 4);
      losesWorkerAfter(story, 30_000);
    });

    it("blames nobody for the time in which it was held up itself", () => {
      const kept = patience();
      const { like, story } = silent(kept);
      kept.look(25_000, story.now);
      story.tell({ kind: "LOST", shards: [like.shard] });
      again(story, like, 3);
      losesWorkerAfter(story, 30_000);
    });
  });

  it("waits as long for a worker whose execution is to be cancelled, and tells it when it is back", () => {
    const { row, story } = inFlight("w1", { cancelGraceMs: 0 });
    const command = { id: "command-1", shard: row.shard, kind: "CANCEL" as const, executionId: row.id };
    story.tell({ kind: "COMMANDS", commands: [command] });
    assert.deepEqual(changesOf(story.later(29_000).commit()), []);
    const token = { shard: row.shard, executionId: row.id, attempt: 1 };
    story.up(profile, [{ ...token, startedAt: START - 400 }]);
    const [order] = ordersOf(story.commit());
    assert.equal(order?.kind, "CANCEL");
    story.finish({ ...token, workerId: "w1" } as Assignment, { state: "CANCELLED" });
    assert.equal(only(changesOf(story.commit())).ended[0]?.state, "CANCELLED");
  });

  it("does not wait for a worker that ran inside the server that ended", () => {
    const { story } = inFlight("builtin-node-1");
    assert.equal(only(story.worker("w2").commit().assigns).attempt, 2);
  });

  it("waits for a worker inside a server that lives, and has only let the shard go", () => {
    const { story } = inFlight("builtin-node-0", {}, "node-0", ["node-0"]);
    assert.deepEqual(story.worker("w2").later(20_000).assigned(), []);
  });

  it("refuses what a worker holds and nobody knows", () => {
    const story = new Story();
    const token = { shard: 3, executionId: "long-gone", attempt: 1 };
    story.up(profile, [{ ...token, startedAt: START }]);
    assert.deepEqual(ordersOf(story.commit()), [{ kind: "REFUSED", workerId: "w1", tokens: [token] }]);
  });
});
