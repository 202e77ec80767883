import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Candidate } from "../../domain/execution.ts";
import { SHARD_COUNT } from "../../domain/ids.ts";
import { coordinatorOf, defaultPool, type Pool } from "../../domain/pool.ts";
import type { Assignment } from "../../ports/messages.ts";
import { explain } from "../explain.ts";
import { candidate, GATEWAY, only, Story } from "../testing/story.ts";
import { Permits } from "./permits.ts";

/** Five jobs, a worker with slots for all of them, and the limits of the pool. */
function story(limits: Partial<Pool>): Story {
  const told = new Story();
  told.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), ...limits }] });
  told.worker("w1", { slots: 5 });
  told.hint(...[1, 2, 3, 4, 5].map((n) => candidate({ id: `execution-${n}`, rank: n })));
  return told.exchangePermits();
}

function without(shards: readonly number[], out: number): number[] {
  return shards.filter((shard) => shard !== out);
}

describe("a pool that allows two at once", () => {
  it("starts two, and the next one when the end of one of them is durable", () => {
    const told = story({ maxRunning: 2 });
    const { assigns } = told.commit();
    assert.deepEqual(
      assigns.map(({ executionId }) => executionId),
      ["execution-1", "execution-2"],
    );
    const [first] = assigns;
    assert.ok(first);
    told.finish(first).exchangePermits();
    // The end of the first attempt is not committed yet, so its permit is still in use.
    assert.equal(told.batch.assigns.length, 0);
    told.commit();
    assert.deepEqual(told.assigned(), ["execution-3"]);
  });

  it("uses a permit again without asking anybody", () => {
    const told = story({ maxRunning: 2 });
    const assign = only(told.commit().assigns.slice(0, 1));
    assert.deepEqual(told.exchangePermits().letters, []);
    told.finish(assign).commit();
    assert.deepEqual(told.letters, []);
    assert.equal(told.batch.assigns.length, 1);
  });

  it("says why the others wait", () => {
    const told = story({ maxRunning: 2 });
    told.commit();
    const reasons = explain(told.state, candidate({ id: "execution-3" }), told.now);
    assert.deepEqual(reasons[0], { reason: "POOL_AT_LIMIT", pool: "default", limit: 2, running: 2 });
  });

  it("starts none before the coordinator has answered, and says so", () => {
    const told = new Story().tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), maxRunning: 2 }] });
    told.worker("w1").hint(candidate({ id: "execution-1" }));
    assert.equal(told.batch.assigns.length, 0);
    assert.deepEqual(explain(told.state, candidate({ id: "execution-1" }), told.now)[0], {
      reason: "PERMIT_AWAITED",
      pool: "default",
    });
    // The call was lost, and is repeated within a second.
    told.letters = [];
    told.later(1_000).exchangePermits();
    assert.deepEqual(told.assigned(), ["execution-1"]);
  });

  it("lets what runs finish when the limit is lowered, and starts none until there is room", () => {
    const told = story({ maxRunning: 3 });
    const { assigns } = told.commit();
    assert.equal(assigns.length, 3);
    told.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), maxRunning: 1 }] });
    told.later(1_000).exchangePermits();
    for (const assign of assigns.slice(0, 2)) {
      told.finish(assign).commit();
      told.exchangePermits();
      assert.equal(told.batch.assigns.length, 0);
    }
    told.finish(only(assigns.slice(2))).commit();
    told.exchangePermits();
    assert.deepEqual(told.assigned(), ["execution-4"]);
  });

  it("uses no permit that it has in hand when the limit is lowered", () => {
    const told = story({ maxRunning: 5 });
    for (const assign of told.commit().assigns) told.finish(assign);
    told.commit();
    told.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), maxRunning: 1 }] });
    told.hint(...[6, 7, 8].map((n) => candidate({ id: `execution-${n}`, rank: n }))).exchangePermits();
    assert.deepEqual(told.assigned(), ["execution-6"]);
  });

  it("uses no permit that the coordinator grants before it has heard that the limit was lowered", () => {
    const told = story({ maxRunning: 1 });
    const first = only(told.commit().assigns);
    told.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), maxRunning: 5 }] });
    told.later(1_000);
    const call = told.letters.splice(0).find(({ message }) => message.kind === "PERMIT_CALL");
    assert.ok(call);
    told.tell({ kind: "PERMIT", from: "node-1", message: call.message });
    const grants = told.letters.splice(0).map(({ message }) => message);
    assert.ok(grants.some((message) => message.kind === "PERMITS" && message.granted > 1));
    told.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), maxRunning: 2 }] });
    const { account } = told.state.permits.of("default")?.call(null, 1, told.now, true) ?? {};
    for (const message of grants) {
      if (message.kind === "PERMITS")
        told.tell({ kind: "PERMIT", from: "node-1", message: { ...message, account: account ?? 0 } });
    }
    assert.equal(told.batch.assigns.length, 0);
    told.later(1_000).exchangePermits();
    assert.deepEqual(told.assigned(), ["execution-2"]);
    told.finish(first).commit();
  });

  it("starts none in place of an adopted attempt while a shard has no owner, whose attempts nobody knows", () => {
    const [ends, runs, waits] = [candidate(), candidate(), candidate()];
    const all = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
    const isUsed = (shard: number) => [ends, runs, waits].some((row) => row.shard === shard);
    const unowned = all.find((shard) => !isUsed(shard) && shard !== coordinatorOf("default")) as number;
    const hidden = candidate({ shard: unowned });
    const told = new Story().tell({ kind: "LOST", shards: all });
    told.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), maxRunning: 2 }] });
    const sent = { attempt: 1, workerId: "w1", gateway: GATEWAY, assignedAt: told.now, attemptStartedAt: told.now };
    /** Takes over shards, in which these attempts run. The worker holds `held` too. */
    const own = (term: number, shards: number[], rows: Candidate[], held: Candidate[] = []) => {
      const inFlight = rows.map((row) => ({ row: { ...row, attempt: 1 }, ...sent, journal: null }));
      const recovered = { inFlight, journals: [], commands: [] };
      const epochs = new Map(shards.map((shard) => [shard, 2]));
      told.tell({ kind: "OWNED", term, epochs, recovered, incarnation: "node-1" });
      const holds = [...rows, ...held].map(({ shard, id }) => ({
        shard,
        executionId: id,
        attempt: 1,
        startedAt: told.now,
      }));
      const worker = { workerId: "w1", name: "w1", pool: "default", handlers: ["echo"], capabilities: [] };
      return told.up({ ...worker, slots: 5, prefetch: 0 }, holds).credit("w1", 1);
    };
    const end = ({ shard, id }: Candidate) => {
      told.finish({ shard, executionId: id, attempt: 1, workerId: "w1" } as Assignment).commit();
      return told.exchangePermits().assigned();
    };
    own(2, without(all, unowned), [ends, runs]).hint(waits).exchangePermits();
    assert.deepEqual(end(ends), []);
    own(3, [unowned], [hidden], [runs]).exchangePermits();
    assert.deepEqual(told.assigned(), [], "two attempts of the pool run");
    assert.deepEqual(end(runs), [waits.id]);
  });

  it("starts all that waits when the limit is taken away", () => {
    const told = story({ maxRunning: 2 });
    told.commit();
    told.tell({ kind: "POOLS", pools: [defaultPool("default")] });
    assert.deepEqual(told.assigned(), ["execution-3", "execution-4", "execution-5"]);
    told.later(5_000);
    assert.deepEqual(told.letters, []);
  });

  it("counts what ran already when the limit came", () => {
    const told = story({});
    assert.equal(told.commit().assigns.length, 5);
    told.tell({ kind: "POOLS", pools: [{ ...defaultPool("default"), maxRunning: 4 }] });
    told.exchangePermits();
    assert.deepEqual(
      told.state.permits.uses(told.now).map(({ taken }) => taken),
      [5],
    );
  });
});

describe("a machine that loses a shard with attempts in it", () => {
  it("leaves their permits with them until the next owner has said what it holds", () => {
    const told = story({ maxRunning: 2 });
    const [first] = told.commit().assigns;
    assert.ok(first);
    // The lost shard must not be the pool's coordinator, which would start a new count.
    assert.notEqual(first.shard, coordinatorOf("default"));
    told.tell({ kind: "LOST", shards: [first.shard] });
    told.exchangePermits();
    assert.equal(only(told.state.permits.uses(told.now)).taken, 2);
    const { life } = told.state;
    const epoch = told.state.epochs.get(coordinatorOf("default")) ?? 0;
    const opening = { held: 0, shards: [{ shard: first.shard, epoch: 2 }], departed: [] };
    const none = { returned: 0, wanted: 0, rank: 0, at: told.now };
    const call = { kind: "PERMIT_CALL", pool: "default", epoch, life, account: 1, opening, seq: 1, ...none } as const;
    told.tell({ kind: "PERMIT", from: "node-2", message: call });
    told.exchangePermits();
    assert.equal(told.commit().assigns.length, 1);
  });
});

describe("what is used of a limit", () => {
  it("is told when all shards were declared: until then some owner may not have heard of the limit", () => {
    const permits = new Permits();
    const ledger = permits.ledger("default", coordinatorOf("default"), 1);
    const declares = (node: string, from: number, to: number) => {
      const shards = Array.from({ length: to - from }, (_, i) => ({ shard: from + i, epoch: 1 }));
      const opening = { held: 1, shards, departed: [] };
      const asked = { epoch: 1, life: 1, account: 1, opening, seq: 1, returned: 0, wanted: 0, rank: 0, at: 0 };
      ledger.take(node, { kind: "PERMIT_CALL", pool: "default", ...asked }, 0);
    };
    declares("node-1", 0, SHARD_COUNT / 2);
    assert.deepEqual(permits.uses(0), []);
    declares("node-2", SHARD_COUNT / 2, SHARD_COUNT);
    assert.deepEqual(permits.uses(0), [{ pool: "default", taken: 2, nextStartAt: null }]);
  });
});

describe("a pool with a rate", () => {
  it("begins empty, starts one after the other, and says when the next may begin", () => {
    const told = story({ ratePerSec: 0.5 });
    assert.equal(told.batch.assigns.length, 0);
    const waits = explain(told.state, candidate({ id: "execution-1" }), told.now);
    assert.deepEqual(waits[0], {
      reason: "POOL_RATE_USED",
      pool: "default",
      ratePerSec: 0.5,
      nextStartAt: told.now + 2_000,
    });
    for (const expected of [0, 1, 0, 1, 0, 1]) {
      told.later(1_000).exchangePermits();
      assert.equal(told.commit().assigns.length, expected);
    }
  });

  it("saves up a second's worth at most", () => {
    const told = story({ ratePerSec: 3 });
    told.now += 60_000;
    told.tell().exchangePermits();
    assert.equal(told.commit().assigns.length, 3);
  });

  it("leaves starts to others while another owner has its workers, and takes the next one when it has them again", () => {
    const told = story({ ratePerSec: 0.5 });
    told.gateway({ kind: "RECALL", term: 1, workers: [{ workerId: "w1", account: 1 }] });
    const { message } = only(told.letters);
    assert.ok(message.kind === "PERMIT_CALL" && message.wanted === 0, "at once: it may wait for them much longer");
    told.exchangePermits().later(2_000).exchangePermits();
    assert.deepEqual(told.assigned(), []);
    told.credit("w1", 5).exchangePermits();
    assert.deepEqual(told.assigned(), ["execution-1"]);
  });

  it("keeps its other limit too", () => {
    const told = story({ ratePerSec: 3, maxRunning: 1 });
    told.later(60_000).exchangePermits();
    const assign = only(told.commit().assigns);
    told.later(1_000).exchangePermits();
    assert.equal(told.commit().assigns.length, 0);
    told.finish(assign).commit();
    told.exchangePermits();
    assert.deepEqual(told.assigned(), ["execution-2"]);
  });
});

describe("a pool without limits", () => {
  it("has nothing to say to anybody", () => {
    const told = story({});
    assert.equal(told.commit().assigns.length, 5);
    told.later(10_000);
    assert.deepEqual([told.letters, told.state.permits.ledgers.size], [[], 0]);
  });
});

describe("a clock that was set back", () => {
  it("makes nobody wait for the pool's next start any longer", () => {
    const told = story({ ratePerSec: 2 });
    told.later(1_000).exchangePermits();
    const begun = told.commit().assigns.length;
    told.now -= 3_600_000;
    told.tell({ kind: "LEAPT", byMs: -3_600_000 });
    for (let n = 0; n < 20; n++) told.later(100).exchangePermits();
    assert.ok(begun + told.commit().assigns.length >= 4, "two in each second");
  });
});
