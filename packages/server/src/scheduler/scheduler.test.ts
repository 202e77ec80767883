import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { memoryBus } from "../adapters/memory/memory-bus.ts";
import { FEATURE_LEVEL } from "../domain/cluster/feature-level.ts";
import { SHARD_COUNT } from "../domain/ids.ts";
import { TENANT_DEFAULTS, type TenantRecord } from "../domain/tenant.ts";
import { tenantLimit } from "../domain/tenant-limit.ts";
import { candidate } from "../engine/testing/story.ts";
import type { NodeLease, NodeProfile } from "../ports/leases.ts";
import { ManualRuntime, settled } from "../ports/manual-runtime.fixture.ts";
import type { FromGateway, ToGateway } from "../ports/messages.ts";
import type { Demand } from "../ports/share-messages.ts";
import type { ShardCommit } from "../ports/store.ts";
import { SHARED } from "./ownership/shard-ownership.ts";
import { Scheduler, type SchedulerDependencies } from "./scheduler.ts";

const ME = "019a0000-0000-7000-8000-000000000001";
const OTHER = "019a0000-0000-7000-8000-000000000002";
const NEW_GATEWAY = "019a0000-0000-7000-8000-000000000003";

const COUNTERS = ["commit", "lateness", "ran", "finished", "takeover", "watch"];

/** A scheduler that owns half of the shards, with a gateway that the test simulates. */
class Scene {
  readonly runtime = new ManualRuntime();
  readonly bus = memoryBus(ME);
  /** Messages to the gateway. */
  readonly told: ToGateway[] = [];
  readonly scheduler: Scheduler;
  /** Tells the scheduler of all tenants. */
  changeTenants: (tenants: ReadonlyMap<string, TenantRecord>) => void = () => undefined;
  /** Feature level of the other scheduler. */
  otherLevel = FEATURE_LEVEL;
  /** Number of reads of tenants. */
  tenantReads = 0;
  #gateways: NodeLease[] = [];

  constructor() {
    const profile = profileOf(ME, ["scheduler", "gateway"]);
    const other = leaseOf(profileOf(OTHER, ["scheduler"]));
    const never = () => new Promise(() => undefined);
    const store = {
      readShards: async () => Array.from({ length: SHARD_COUNT }, (_, shard) => ({ shard, epoch: 1, owner: null })),
      takeOver: async (wanted: readonly unknown[]) => wanted.map(() => 2),
      recover: async () => ({ inFlight: [], journals: [], commands: [] }),
      commit: async (commits: readonly ShardCommit[]) => commits.map(outcomeOf),
      ...{ readPools: async () => [], watchTakeovers: () => undefined, poll: never },
      recurrences: { readAwaiting: async () => [], readOtherZones: async () => [] },
    };
    const quiet = Object.fromEntries(COUNTERS.map((name) => [name, () => undefined]));
    const parts = {
      ...{ store, bus: this.bus, runtime: this.runtime, log: pino({ level: "silent" }), metrics: quiet },
      ...{ clock: { onLeap: () => undefined }, profile, terms: SHARED },
      zones: { changeovers: () => [], listen: () => undefined },
      tenants: {
        onChange: (changed: Scene["changeTenants"]) => void (this.changeTenants = changed),
        read: async () => void this.tenantReads++,
      },
      leases: {
        renew: async () => [leaseOf(profile), { ...other, level: this.otherLevel }, ...this.#gateways],
        release: async () => undefined,
      },
    } as unknown as SchedulerDependencies;
    this.bus.listen("gateway", (envelopes) => this.told.push(...envelopes.map(({ message }) => message)));
    this.scheduler = new Scheduler(parts);
  }

  /** @returns a row of a shard that the scheduler owns */
  async begin() {
    await this.scheduler.start();
    await settled();
    const owned = this.told.flatMap((message) => (message.kind === "OWNER" ? message.shards : []));
    for (;;) {
      const row = candidate({ dueAt: this.runtime.now() });
      if (owned.some(({ shard }) => shard === row.shard)) return row;
    }
  }

  async say(...messages: FromGateway[]): Promise<void> {
    for (const message of messages) this.bus.send({ node: ME, role: "scheduler" }, message);
    await settled();
  }

  /** Adds a node to the next renewal of the lease. */
  async gatewayAppears(): Promise<void> {
    this.#gateways = [leaseOf(profileOf(NEW_GATEWAY, ["gateway"]))];
    await this.runtime.advance(SHARED.renewEveryMs);
  }

  /** Pools of each message about demand since the last call. */
  demands(): string[][] {
    const told = this.told.splice(0).flatMap((message): (readonly Demand[])[] => {
      return message.kind === "DEMAND" ? [message.demand] : [];
    });
    return told.map((demand) => demand.map(({ pool }) => pool));
  }
}

function profileOf(incarnation: string, roles: NodeProfile["roles"]): NodeProfile {
  return {
    incarnation,
    name: incarnation,
    address: incarnation,
    roles,
    version: "1",
    level: FEATURE_LEVEL,
    startedAt: 0,
  };
}

function leaseOf(profile: NodeProfile): NodeLease {
  return { ...profile, renewedAgoMs: 0, draining: false, reaches: null };
}

function outcomeOf({ shard }: ShardCommit) {
  return {
    shard,
    status: "APPLIED",
    missed: [],
    missedPlans: [],
    notCreated: [],
    missedRuns: [],
    notBorn: [],
    refused: [],
  };
}

it("tells gateways that nothing waits any more when it gives credit back, though it has heard of another gateway since", async () => {
  const scene = new Scene();
  const row = await scene.begin();
  const term = 1;
  const worker = {
    workerId: "w1",
    name: "w1",
    pool: "default",
    handlers: ["echo"],
    capabilities: [],
    slots: 1,
    prefetch: 0,
  };
  await scene.say({ kind: "WORKER_UP", term, worker, connection: 1, account: 1, holds: [] });
  scene.bus.send({ node: ME, role: "scheduler" }, { kind: "HINT", rows: [{ row, payload: null }] });
  await settled();
  assert.deepEqual(scene.demands(), [["default"]]);
  const credit = { workerId: "w1", account: 1, granted: 2, highest: 0, missing: [] };
  await scene.say({ kind: "CREDITS", term, roll: false, credits: [credit] });
  await scene.gatewayAppears();
  await scene.say({ kind: "RECALL", term, workers: [{ workerId: "w1", account: 1 }] });
  assert.deepEqual(scene.demands(), [[]]);
  await scene.scheduler.stop();
});

it("tells other schedulers the attempts of tenants once one of them knows of a second tenant, and gateways the share of its demand", async () => {
  const scene = new Scene();
  const { bus } = scene;
  const [send, nodes] = [bus.send.bind(bus), bus.nodes.bind(bus)];
  const toOther: string[] = [];
  bus.nodes = (role) => (role === "scheduler" ? [ME, OTHER] : nodes(role));
  bus.send = (to, message) => {
    if (to.node === OTHER) toOther.push(message.kind);
    else send(to, message);
  };
  const row = await scene.begin();
  const worker = {
    workerId: "w1",
    name: "w1",
    pool: "default",
    handlers: ["echo"],
    capabilities: [],
    slots: 1,
    prefetch: 0,
  };
  await scene.say({ kind: "WORKER_UP", term: 1, worker, connection: 1, account: 1, holds: [] });
  send({ node: ME, role: "scheduler" }, { kind: "HINT", rows: [{ row, payload: null }] });
  await settled();
  assert.ok(!toOther.includes("SHARES"), "there is only one tenant");
  const shares = [
    { pool: "default", tenant: "acme", attempts: 2_000 },
    { pool: "default", tenant: "default", attempts: 5_000 },
  ];
  send({ node: ME, role: "scheduler" }, { kind: "SHARES", shares });
  scene.told.length = 0;
  await scene.runtime.advance(1_000);
  assert.ok(toOther.includes("SHARES"));
  const told = scene.told.flatMap((message) => (message.kind === "OWNER" ? message.demand : []));
  assert.deepEqual(told.at(-1)?.share, 50);
  // Every change of the weights counts from then on.
  for (const [weight, share] of [
    [200, 25],
    [100, 50],
  ] as const) {
    const tenant = { ...TENANT_DEFAULTS, name: "default", state: "ACTIVE", weight } as const;
    scene.told.length = 0;
    scene.changeTenants(new Map([["default", tenant]]));
    await scene.runtime.advance(100);
    const since = scene.told.flatMap((message) => ("demand" in message ? message.demand : []));
    assert.deepEqual(since.at(-1)?.share, share);
  }
  await scene.scheduler.stop();
});

it("keeps the limits of tenants while every node does, and not beside a node of an older level", async () => {
  const scene = new Scene();
  scene.otherLevel = FEATURE_LEVEL - 1;
  const send = scene.bus.send.bind(scene.bus);
  const called = new Set<string>();
  scene.bus.send = (to, message) => {
    if (message.kind === "PERMIT_CALL") called.add(message.pool);
    send(to, message);
  };
  scene.bus.ownerOf = () => ME;
  await scene.begin();
  assert.equal(scene.tenantReads, 1, "a takeover reads the limits before it assigns anything");
  const tenant = { ...TENANT_DEFAULTS, name: "default", state: "ACTIVE", maxRunning: 1 } as const;
  scene.changeTenants(new Map([["default", tenant]]));
  await scene.runtime.advance(100);
  assert.deepEqual([...called], [], "an older node would grant no permit of a tenant");
  scene.otherLevel = FEATURE_LEVEL;
  await scene.runtime.advance(1_000);
  assert.deepEqual([...called], [tenantLimit("default")]);
  await scene.scheduler.stop();
});
