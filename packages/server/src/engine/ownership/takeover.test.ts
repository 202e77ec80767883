import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Assignment, HeldAttempt } from "../../ports/messages.ts";
import type { Recovered } from "../../ports/store.ts";
import { candidate, changesOf, GATEWAY, only, ordersOf, START, Story } from "../testing/story.ts";

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
    assert.deepEqual(
      ordersOf(batch).map(({ kind }) => kind),
      ["WHO", "REFUSED"],
    );
  });

  it("runs elsewhere what never arrived", () => {
    const { story } = inFlight("w1");
    story.up(profile, []).credit("w1", 1);
    assert.equal(only(story.commit().assigns).attempt, 2);
  });

  describe("of what was sent through another gateway", () => {
    const both = ["gateway-0", GATEWAY];
    /** Asks every living gateway once a second. The gateways in `absent` answer that they do not have the worker. */
    const secondsOf = (story: Story, seconds: number, absent: readonly string[], nodes = both) => {
      for (let second = 1; second <= seconds; second++) {
        const askedAt = story.now;
        story.tell({ kind: "GATEWAYS", nodes });
        for (const from of absent) {
          story.tell({ kind: "GATEWAY", from, message: { kind: "ABSENT", askedAt, workerIds: ["w1"] } });
        }
        story.later(1_000);
      }
      return story;
    };
    const answer = (story: Story, holds: HeldAttempt[] = []) =>
      story.gateway({ kind: "WORKER_UP", term: 2, worker: profile, connection: 2, account: 1, holds, isAnswer: true });

    it("believes the worker's own answer at once, wherever it is", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both);
      answer(story);
      assert.equal(endOf(story), "RELEASED");
    });

    it("does not believe a gateway that has not asked the worker: the attempt may be on its way through the other one", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both);
      story.up(profile, [], { connection: 2 });
      assert.deepEqual(changesOf(secondsOf(story, 29, ["gateway-0"]).commit()), []);
    });

    it("does not believe an answer under older epochs", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both);
      story.gateway({
        kind: "WORKER_UP",
        term: 1,
        worker: profile,
        connection: 2,
        account: 1,
        holds: [],
        isAnswer: true,
      });
      assert.deepEqual(changesOf(story.commit()), []);
    });

    it("never releases what is known to have begun", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both, { startedAt: START - 400 });
      answer(story);
      assert.equal(endOf(story), "WORKER_LOST");
    });

    it("asks every living gateway, again and again, until one has found the worker", () => {
      const { row, story } = inFlight("w1", {}, "gateway-0", both);
      story.commit();
      const asked = () => {
        story.tell({ kind: "GATEWAYS", nodes: both });
        const orders = story.commit().toGateway.filter(({ message }) => message.kind === "WHO");
        return orders.map(({ node }) => node).sort();
      };
      assert.deepEqual([asked(), asked()], [both, both]);
      answer(story, [{ shard: row.shard, executionId: row.id, attempt: 1, startedAt: START - 400 }]);
      assert.deepEqual(asked(), []);
    });

    it("gives a worker that no living gateway has the time to connect again, and no more", () => {
      const { story } = inFlight("w1", {}, "gateway-gone", both);
      assert.deepEqual(changesOf(secondsOf(story, 4, both).commit()), []);
      assert.equal(endOf(secondsOf(story, 1, both)), "WORKER_LOST");
    });

    it("gives up in the same time an attempt that had no row of its own yet when its gateway was gone", () => {
      const story = new Story();
      story.tell({ kind: "GATEWAYS", nodes: both }).worker("w1").hint(candidate());
      story.started(only(story.commit().assigns));
      story.tell({ kind: "GATEWAYS", nodes: ["gateway-0"] });
      story.later(1_000).commit();
      assert.deepEqual(changesOf(secondsOf(story, 3, ["gateway-0"], ["gateway-0"]).commit()), []);
      assert.equal(endOf(secondsOf(story, 2, ["gateway-0"], ["gateway-0"])), "WORKER_LOST");
    });

    it("waits for a gateway that lives and has not answered", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both);
      assert.deepEqual(changesOf(secondsOf(story, 29, [GATEWAY]).commit()), []);
      assert.equal(endOf(secondsOf(story, 1, [GATEWAY])), "WORKER_LOST");
    });

    it("waits no longer for a gateway that has died since", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both);
      assert.deepEqual(changesOf(secondsOf(story, 8, [GATEWAY]).commit()), []);
      assert.equal(endOf(secondsOf(story, 2, [GATEWAY], [GATEWAY])), "WORKER_LOST");
    });

    it("does not count an answer from before the worker may have come to that gateway", () => {
      const { story } = inFlight("w1", {}, "gateway-0", both);
      secondsOf(story, 1, both);
      assert.deepEqual(changesOf(secondsOf(story, 5, [GATEWAY]).commit()), []);
    });
  });

  it("asks a gateway that is silent on what its worker has, also if it knew the worker before", () => {
    const story = new Story().up(profile).credit("w1", 1);
    const { row } = inFlight("w1", {}, GATEWAY, [GATEWAY], { story });
    const question = [{ kind: "WHO", workerIds: ["w1"], askedAt: START }];
    assert.deepEqual(ordersOf(story.commit()), question);
    // The answer was lost.
    assert.deepEqual(ordersOf(story.tell({ kind: "GATEWAYS", nodes: [GATEWAY] }).commit()), question);
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
