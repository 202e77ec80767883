import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { memoryBus } from "../../adapters/memory/memory-bus.ts";
import { FEATURE_LEVEL } from "../../domain/cluster/feature-level.ts";
import { type Epoch, SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import type { NodeProfile } from "../../ports/leases.ts";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import type { Recovered } from "../../ports/store.ts";
import { SHARED, ShardOwnership, type ShardOwnershipDependencies } from "./shard-ownership.ts";

const ME = "019a0000-0000-7000-8000-000000000001";
const OTHER = "019a0000-0000-7000-8000-000000000002";
const readPools = async () => {};
const profile: NodeProfile = {
  incarnation: ME,
  name: "a:8081",
  address: "a:8081",
  roles: ["scheduler"],
  version: "1",
  level: 1,
  startedAt: 0,
};

/** A store whose shards have no owner, or all the same one. The test sets how long reading them takes. */
class SlowStore {
  readonly #runtime: ManualRuntime;
  readonly #recoverMs: number;
  readonly #owner: string | null;

  takeovers = 0;
  /** Duration of the first read of the shards in ms. */
  #lookMs: number;

  constructor(runtime: ManualRuntime, recoverMs: number, owner: string | null = null, lookMs = 0) {
    this.#lookMs = lookMs;
    this.#runtime = runtime;
    this.#recoverMs = recoverMs;
    this.#owner = owner;
  }

  async readShards() {
    const lookMs = this.#lookMs;
    this.#lookMs = 0;
    if (lookMs > 0) await new Promise<void>((resolve) => this.#runtime.setTimer(lookMs, resolve));
    return Array.from({ length: SHARD_COUNT }, (_, shard) => ({ shard, epoch: 1, owner: this.#owner }));
  }

  async takeOver(wanted: readonly unknown[]) {
    this.takeovers++;
    return wanted.map(() => 2);
  }

  recover(): Promise<Recovered> {
    return new Promise((resolve) => this.#runtime.setTimer(this.#recoverMs, () => resolve({} as Recovered)));
  }

  async releaseShards() {}
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
  const leases: ShardOwnershipDependencies["leases"] = {
    renew: async (node) => {
      const renewedAgoMs = runtime.monotonicMs() - lastMs;
      const mine = { ...node, renewedAgoMs: 0, draining: false, reaches: reached ?? null };
      return renewedAgoMs > SHARED.ttlMs ? [mine] : [mine, { ...other, renewedAgoMs }];
    },
    release: async () => {},
  };
  const owned = new Map<ShardId, Epoch>();
  let tookAtMs = 0;
  const machine: ShardOwnershipDependencies["machine"] = {
    gatewaysChanged: () => undefined,
    has: () => owned,
    own: ({ epochs }) => {
      tookAtMs = runtime.monotonicMs();
      for (const [shard, epoch] of epochs) owned.set(shard, epoch);
    },
    releaseShards: async () => true,
    drop: () => undefined,
  };
  const store = new SlowStore(runtime, 0, OTHER);
  const log = pino({ level: "silent" });
  const bus = Object.assign(memoryBus(ME), { nodes: () => (isReachable ? [ME, OTHER] : [ME]) });
  const ownership = new ShardOwnership({
    store,
    leases,
    bus,
    runtime,
    log,
    profile,
    terms: SHARED,
    readPools,
    machine,
  });
  const started = ownership.start();
  await settled();
  await started;
  await runtime.advance(SHARED.ttlMs);
  await ownership.stop();
  assert.equal(owned.size, SHARD_COUNT);
  return tookAtMs - lastMs;
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
  const leases: ShardOwnershipDependencies["leases"] = {
    renew: async (node) => [
      { ...node, level, renewedAgoMs: 0, draining: false, reaches },
      ...[other, third].map((one) => ({ ...one, renewedAgoMs: 0, reaches: [ME, OTHER, third.incarnation] })),
    ],
    release: async () => {},
  };
  const owned = new Map<ShardId, Epoch>();
  const gone: number[] = [];
  const machine: ShardOwnershipDependencies["machine"] = {
    gatewaysChanged: () => undefined,
    has: () => owned,
    own: ({ epochs }) => {
      for (const [shard, epoch] of epochs) owned.set(shard, epoch);
    },
    releaseShards: async (shards) => {
      gone.push(shards.length);
      for (const shard of shards) owned.delete(shard);
      return true;
    },
    drop: () => undefined,
  };
  const bus = Object.assign(memoryBus(ME), { nodes: () => [ME, OTHER, third.incarnation] });
  const store = new SlowStore(runtime, 0);
  const log = pino({ level: "silent" });
  const ownership = new ShardOwnership({
    store,
    leases,
    bus,
    runtime,
    log,
    profile,
    terms: SHARED,
    readPools,
    machine,
  });
  const started = ownership.start();
  await settled();
  await runtime.advance(1);
  await started;
  const had = owned.size;
  assert.ok(had > 0 && had < SHARD_COUNT);
  reaches = [ME];
  await runtime.advance(3 * SHARED.renewEveryMs);
  assert.deepEqual([gone, owned.size, ownership.share], [[had], 0, { placed: 0, had: 0, isSettled: true }]);
  reaches = [ME, OTHER, third.incarnation];
  await runtime.advance(SHARED.renewEveryMs);
  assert.equal(owned.size, had);
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
  const leases: ShardOwnershipDependencies["leases"] = {
    renew: async (node) => {
      const mine = { ...node, renewedAgoMs: 0, draining: false, reaches: null };
      return renewals++ === 0 ? [mine] : [mine, other];
    },
    release: async () => {},
  };
  const store = new SlowStore(runtime, 0, OTHER, SHARED.ttlMs + 1);
  const machine = {
    has: () => new Map(),
    own: () => undefined,
    releaseShards: async () => true,
    gatewaysChanged: () => undefined,
    drop: () => undefined,
  };
  const bus = Object.assign(memoryBus(ME), { nodes: () => [ME, OTHER] });
  const log = pino({ level: "silent" });
  const ownership = new ShardOwnership({
    store,
    leases,
    bus,
    runtime,
    log,
    profile,
    terms: SHARED,
    readPools,
    machine,
  });
  const started = ownership.start();
  await settled();
  await runtime.advance(3 * SHARED.ttlMs);
  await started;
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

/** Starts a node on a store in which one call takes this long, and runs its rounds until it owns all shards. */
async function lookSlowly({ recoverMs = 0, lookMs = 0 }: { recoverMs?: number; lookMs?: number }) {
  const runtime = new ManualRuntime();
  const renewedAtMs: number[] = [];
  const leases: ShardOwnershipDependencies["leases"] = {
    renew: async (node) => {
      renewedAtMs.push(runtime.monotonicMs());
      return [{ ...node, renewedAgoMs: 0, draining: false, reaches: null }];
    },
    release: async () => {},
  };
  const owned = new Map<ShardId, Epoch>();
  const dropped: string[] = [];
  const machine: ShardOwnershipDependencies["machine"] = {
    gatewaysChanged: () => undefined,
    has: () => owned,
    own: ({ epochs }) => {
      for (const [shard, epoch] of epochs) owned.set(shard, epoch);
    },
    releaseShards: async () => true,
    drop: (reason) => dropped.push(reason),
  };
  const store = new SlowStore(runtime, recoverMs, null, lookMs);
  const terms = SHARED;
  const log = pino({ level: "silent" });
  const ownership = new ShardOwnership({
    store,
    leases,
    bus: memoryBus(ME),
    runtime,
    log,
    profile,
    terms,
    readPools,
    machine,
  });
  const started = ownership.start();
  await settled();
  await runtime.advance(recoverMs + lookMs);
  await started;
  await runtime.advance(SHARED.renewEveryMs);
  const pausesMs = renewedAtMs.slice(1).map((atMs, index) => atMs - (renewedAtMs[index] as number));
  const isTrusted = ownership.trusted;
  await ownership.stop();
  return { shards: owned.size, dropped, pausesMs, isTrusted };
}

it("counts among the living gateways whose leases stand, though only this node cannot reach them, and not their earlier lives", async () => {
  const runtime = new ManualRuntime();
  const lease = { ...profile, draining: false, reaches: null, renewedAgoMs: 0 };
  const other = { ...lease, incarnation: OTHER, name: "b:8081", roles: ["gateway"] as const, startedAt: 7 };
  const earlier = { ...other, incarnation: "019a0000-0000-7000-8000-000000000003", startedAt: 6 };
  let known = [other, earlier];
  const leases: ShardOwnershipDependencies["leases"] = {
    renew: async () => [lease, ...known],
    release: async () => {},
  };
  const owned = new Map<ShardId, Epoch>();
  const machine: ShardOwnershipDependencies["machine"] = {
    gatewaysChanged: () => undefined,
    has: () => owned,
    own: ({ epochs }) => {
      for (const [shard, epoch] of epochs) owned.set(shard, epoch);
    },
    releaseShards: async () => true,
    drop: () => undefined,
  };
  const bus = Object.assign(memoryBus(ME), { nodes: () => [ME] });
  const log = pino({ level: "silent" });
  const store = new SlowStore(runtime, 0);
  const ownership = new ShardOwnership({
    store,
    leases,
    bus,
    runtime,
    log,
    profile,
    terms: SHARED,
    readPools,
    machine,
  });
  const started = ownership.start();
  await settled();
  await runtime.advance(1);
  await started;
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
  const leases: ShardOwnershipDependencies["leases"] = {
    renew: async (node) => [{ ...node, reaches: null, renewedAgoMs: 0, draining: false }, ...others],
    release: async () => {},
  };
  const owned = new Map<ShardId, Epoch>();
  const machine: ShardOwnershipDependencies["machine"] = {
    gatewaysChanged: () => undefined,
    has: () => owned,
    own: ({ epochs }) => {
      for (const [shard, epoch] of epochs) owned.set(shard, epoch);
    },
    releaseShards: async () => true,
    drop: () => undefined,
  };
  const parts = {
    leases,
    bus: memoryBus(ME),
    runtime,
    log: pino({ level: "silent" }),
    terms: SHARED,
    readPools,
    machine,
  };
  const ownership = new ShardOwnership({ ...parts, store: new SlowStore(runtime, 0), profile: newest });
  const started = ownership.start();
  await settled();
  await runtime.advance(1);
  await started;
  assert.equal(ownership.level, 2);
  others = [];
  await runtime.advance(SHARED.renewEveryMs);
  assert.equal(ownership.level, 3, "the older node is gone");
  await ownership.stop();
});
