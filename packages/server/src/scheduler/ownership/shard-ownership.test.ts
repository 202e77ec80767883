import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { memoryBus } from "../../adapters/memory/memory-bus.ts";
import { FEATURE_LEVEL } from "../../domain/cluster/feature-level.ts";
import { type Epoch, type Incarnation, SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import type { NodeProfile } from "../../ports/leases.ts";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import type { Recovered, ShardHolder } from "../../ports/store.ts";
import { type ShardOwnershipDependencies as Parts, SHARED, ShardOwnership } from "./shard-ownership.ts";

const ME = "019a0000-0000-7000-8000-000000000001";
const OTHER = "019a0000-0000-7000-8000-000000000002";
const profile: NodeProfile = {
  incarnation: ME,
  name: "a:8081",
  address: "a:8081",
  roles: ["scheduler"],
  version: "1",
  level: 1,
  startedAt: 0,
};

/** A store whose shards have no owner at first, or all the same one. The test sets how long reading them takes. */
class SlowStore {
  readonly #runtime: ManualRuntime;
  readonly #recoverMs: number;
  readonly #holders: ShardHolder[];

  takeovers = 0;
  /** Duration of the first read of the shards in ms. */
  #lookMs: number;

  constructor(runtime: ManualRuntime, recoverMs: number, owner: string | null = null, lookMs = 0) {
    this.#lookMs = lookMs;
    this.#runtime = runtime;
    this.#recoverMs = recoverMs;
    this.#holders = Array.from({ length: SHARD_COUNT }, (_, shard) => ({ shard, epoch: 1, owner }));
  }

  async readShards() {
    const lookMs = this.#lookMs;
    this.#lookMs = 0;
    if (lookMs > 0) await new Promise<void>((resolve) => this.#runtime.setTimer(lookMs, resolve));
    return [...this.#holders];
  }

  async takeOver(seen: readonly ShardHolder[], owner: Incarnation) {
    this.takeovers++;
    for (const { shard, epoch } of seen) this.#holders[shard] = { shard, epoch: epoch + 1, owner };
    return seen.map(({ epoch }) => epoch + 1);
  }

  recover(): Promise<Recovered> {
    return new Promise((resolve) => this.#runtime.setTimer(this.#recoverMs, () => resolve({} as Recovered)));
  }

  async releaseShards() {}
}

/** Parts of a node that differ from the usual: a store that answers at once, and no link to another node. */
interface Stage extends Partial<Pick<Parts, "store" | "profile">> {
  runtime: ManualRuntime;
  renew: Parts["leases"]["renew"];
  /** Nodes to which there is a link, this one included. */
  linked?: string[];
}

/** Ownership of a node, with records of what its machine was given and had to give back. */
function stage({ runtime, renew, linked = [ME], ...parts }: Stage) {
  const owned = new Map<ShardId, Epoch>();
  const seen = { owned, tookAtMs: 0, released: [] as number[], dropped: [] as string[] };
  const machine: Parts["machine"] = {
    gatewaysChanged: () => undefined,
    has: () => owned,
    own: ({ epochs }) => {
      seen.tookAtMs = runtime.monotonicMs();
      for (const [shard, epoch] of epochs) owned.set(shard, epoch);
    },
    releaseShards: async (shards) => {
      seen.released.push(shards.length);
      for (const shard of shards) owned.delete(shard);
      return true;
    },
    drop: (reason) => seen.dropped.push(reason),
  };
  const ownership = new ShardOwnership({
    ...{ runtime, profile, machine, terms: SHARED, log: pino({ level: "silent" }), readPools: async () => {} },
    store: new SlowStore(runtime, 0),
    leases: { renew, release: async () => {} },
    bus: Object.assign(memoryBus(ME), { nodes: () => linked }),
    ...parts,
  });
  /** Starts the ownership while the clock moves by `ms`. */
  const start = async (ms: number) => {
    const started = ownership.start();
    await settled();
    await runtime.advance(ms);
    await started;
  };
  return { ownership, seen, start };
}

/** State of the other node, which renewed its lease 90 ms ago for the last time, as this node sees it. */
interface Known {
  isReachable: boolean;
  /** Nodes to which this node had a link until now; default: not reported. */
  reached?: string[];
}

async function takenAfterMs({ isReachable, reached }: Known): Promise<number> {
  const runtime = new ManualRuntime();
  const lastMs = runtime.monotonicMs() - 90;
  const other = { ...profile, incarnation: OTHER, name: "b:8081", address: "b:8081", draining: false, reaches: null };
  const renew: Parts["leases"]["renew"] = async (node) => {
    const renewedAgoMs = runtime.monotonicMs() - lastMs;
    const mine = { ...node, renewedAgoMs: 0, draining: false, reaches: reached ?? null };
    return renewedAgoMs > SHARED.ttlMs ? [mine] : [mine, { ...other, renewedAgoMs }];
  };
  const store = new SlowStore(runtime, 0, OTHER);
  const linked = isReachable ? [ME, OTHER] : [ME];
  const { ownership, seen, start } = stage({ runtime, renew, store, linked });
  await start(0);
  await runtime.advance(SHARED.ttlMs);
  assert.equal(seen.owned.size, SHARD_COUNT);
  await ownership.stop();
  return seen.tookAtMs - lastMs;
}

it("looks again when the lease of a node runs out that does not renew it, and takes what was that node's", async () => {
  assert.equal(await takenAfterMs({ isReachable: true }), SHARED.ttlMs + 1);
});

it("looks again when a node has missed a renewal that cannot be reached, and takes what was that node's", async () => {
  assert.equal(await takenAfterMs({ isReachable: false }), 2 * SHARED.renewEveryMs + 1);
});

it("waits for the end of a lease where its link to the node was broken before: a refused connection says nothing then", async () => {
  assert.equal(await takenAfterMs({ isReachable: false, reached: [ME] }), SHARED.ttlMs + 1);
  assert.equal(await takenAfterMs({ isReachable: false, reached: [ME, OTHER] }), 2 * SHARED.renewEveryMs + 1);
});

it("takes nothing while it and the owners do not reach each other, and lets all go at once that it has", async () => {
  const runtime = new ManualRuntime();
  const level = FEATURE_LEVEL;
  const other = { ...profile, incarnation: OTHER, name: "b:8081", address: "b:8081", level, draining: false };
  const third = { ...other, incarnation: "019a0000-0000-7000-8000-000000000003", name: "c:8081", address: "c:8081" };
  let reaches = [ME, OTHER, third.incarnation];
  const renew: Parts["leases"]["renew"] = async (node) => [
    { ...node, level, renewedAgoMs: 0, draining: false, reaches },
    ...[other, third].map((one) => ({ ...one, renewedAgoMs: 0, reaches: [ME, OTHER, third.incarnation] })),
  ];
  const { ownership, seen, start } = stage({ runtime, renew, linked: [ME, OTHER, third.incarnation] });
  await start(1);
  const had = seen.owned.size;
  assert.ok(had > 0 && had < SHARD_COUNT);
  reaches = [ME];
  await runtime.advance(3 * SHARED.renewEveryMs);
  assert.deepEqual(
    [seen.released, seen.owned.size, ownership.share],
    [[had], 0, { placed: 0, had: 0, isSettled: true }],
  );
  reaches = [ME, OTHER, third.incarnation];
  await runtime.advance(SHARED.renewEveryMs);
  assert.equal(seen.owned.size, had);
  await ownership.stop();
});

it("gives up the shards that another node has taken over without its knowing, and leaves them to that node", async () => {
  const runtime = new ManualRuntime();
  const store = new SlowStore(runtime, 0);
  const lease = { renewedAgoMs: 0, draining: false, reaches: null };
  const api = { ...profile, ...lease, incarnation: OTHER, name: "b:8081", address: "b:8081", roles: ["api" as const] };
  const { ownership, seen, start } = stage({ runtime, store, renew: async (node) => [{ ...node, ...lease }, api] });
  await start(1);
  assert.equal(seen.owned.size, SHARD_COUNT);
  await store.takeOver((await store.readShards()).slice(0, 3), "019a0000-0000-7000-8000-000000000003");
  await runtime.advance(SHARED.ttlMs);
  assert.deepEqual([seen.released, seen.owned.size], [[3], SHARD_COUNT - 3]);
  await ownership.stop();
});

it("takes nothing by what it knew before it was held up: who was dead then may live", async () => {
  const runtime = new ManualRuntime();
  const other = {
    ...profile,
    incarnation: OTHER,
    name: "b:8081",
    address: "b:8081",
    draining: false,
    reaches: null,
    renewedAgoMs: 0,
  };
  let renewals = 0;
  const renew: Parts["leases"]["renew"] = async (node) => {
    const mine = { ...node, renewedAgoMs: 0, draining: false, reaches: null };
    return renewals++ === 0 ? [mine] : [mine, other];
  };
  const store = new SlowStore(runtime, 0, OTHER, SHARED.ttlMs + 1);
  const { ownership, start } = stage({ runtime, renew, store, linked: [ME, OTHER] });
  await start(3 * SHARED.ttlMs);
  assert.deepEqual([store.takeovers, renewals > 1], [0, true]);
  await ownership.stop();
});

it("keeps its lease while it takes shards over, however long that takes, and then has them", async () => {
  const { shards, dropped, pausesMs, isTrusted } = await lookSlowly({ recoverMs: 5 * SHARED.ttlMs });
  assert.deepEqual([shards, dropped, isTrusted], [SHARD_COUNT, [], true]);
  assert.ok(Math.max(...pausesMs) < SHARED.ttlMs);
});

it("keeps its lease while the store does not answer who owns the shards, takes nothing by that old list, and does next time", async () => {
  const { shards, dropped, pausesMs, isTrusted } = await lookSlowly({ lookMs: 4 * SHARED.ttlMs });
  assert.deepEqual([shards, dropped, isTrusted], [SHARD_COUNT, [], true]);
  assert.ok(Math.max(...pausesMs) < SHARED.ttlMs);
});

it("trusts its lease from before the call on, however long the answer takes", async () => {
  const runtime = new ManualRuntime();
  const slowMs = SHARED.ttlMs - 500;
  /** Durations of the renewals in ms; the last one is longer than a lease. */
  const tookMs = [0, slowMs, 2 * SHARED.ttlMs];
  const renew: Parts["leases"]["renew"] = async (node) => {
    const durationMs = tookMs.shift() ?? 0;
    if (durationMs > 0) await new Promise<void>((resolve) => runtime.setTimer(durationMs, resolve));
    return [{ ...node, renewedAgoMs: 0, draining: false, reaches: null }];
  };
  const { ownership, seen, start } = stage({ runtime, renew });
  await start(0);
  await runtime.advance(SHARED.renewEveryMs + slowMs);
  assert.deepEqual([ownership.trusted, seen.dropped], [true, []]);
  await runtime.advance(SHARED.ttlMs - slowMs);
  assert.deepEqual([ownership.trusted, seen.dropped], [false, ["the lease ran out"]]);
  await runtime.advance(2 * SHARED.ttlMs);
  assert.equal(ownership.trusted, true);
  await ownership.stop();
});

/** Starts a node on a store in which one call takes this long, and runs its rounds until it owns all shards. */
async function lookSlowly({ recoverMs = 0, lookMs = 0 }: { recoverMs?: number; lookMs?: number }) {
  const runtime = new ManualRuntime();
  const renewedAtMs: number[] = [];
  const renew: Parts["leases"]["renew"] = async (node) => {
    renewedAtMs.push(runtime.monotonicMs());
    return [{ ...node, renewedAgoMs: 0, draining: false, reaches: null }];
  };
  const store = new SlowStore(runtime, recoverMs, null, lookMs);
  const { ownership, seen, start } = stage({ runtime, renew, store });
  await start(recoverMs + lookMs);
  await runtime.advance(SHARED.renewEveryMs);
  const pausesMs = renewedAtMs.slice(1).map((atMs, index) => atMs - (renewedAtMs[index] as number));
  const found = { shards: seen.owned.size, dropped: seen.dropped, pausesMs, isTrusted: ownership.trusted };
  await ownership.stop();
  return found;
}

it("counts among the living gateways whose leases stand, though only this node cannot reach them, and not their earlier lives", async () => {
  const runtime = new ManualRuntime();
  const lease = { ...profile, draining: false, reaches: null, renewedAgoMs: 0 };
  const other = { ...lease, incarnation: OTHER, name: "b:8081", roles: ["gateway"] as const, startedAt: 7 };
  const earlier = { ...other, incarnation: "019a0000-0000-7000-8000-000000000003", startedAt: 6 };
  let known = [other, earlier];
  const renew: Parts["leases"]["renew"] = async () => [lease, ...known];
  const { ownership, start } = stage({ runtime, renew });
  await start(1);
  assert.deepEqual(ownership.gateways, [ME, OTHER]);
  known = [{ ...other, renewedAgoMs: 501 }];
  await runtime.advance(SHARED.renewEveryMs);
  assert.deepEqual(ownership.gateways, [ME], "it cannot be reached, and does not renew its lease");
  await ownership.stop();
});

it("knows the feature level of the cluster: that of the oldest node whose lease stands", async () => {
  const runtime = new ManualRuntime();
  const newest = { ...profile, level: 3 };
  const older = {
    ...profile,
    incarnation: OTHER,
    name: "b:8081",
    roles: ["api" as const],
    level: 2,
    draining: false,
    reaches: null,
  };
  let others = [{ ...older, renewedAgoMs: 0 }];
  const renew: Parts["leases"]["renew"] = async (node) => [
    { ...node, reaches: null, renewedAgoMs: 0, draining: false },
    ...others,
  ];
  const { ownership, start } = stage({ runtime, renew, profile: newest });
  await start(1);
  assert.equal(ownership.level, 2);
  others = [];
  await runtime.advance(SHARED.renewEveryMs);
  assert.equal(ownership.level, 3, "the older node is gone");
  await ownership.stop();
});
