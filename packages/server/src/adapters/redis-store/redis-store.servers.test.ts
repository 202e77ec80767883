import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DURABLE } from "../../../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../../../tools/services/start-redis.ts";
import { leasesConformance } from "../../ports/conformance/leases.conformance.ts";
import { storeConformance } from "../../ports/conformance/store.conformance.ts";
import { applied, fenced, Scene, TENANT } from "../../ports/conformance/store-scene.conformance.ts";
import { type RedisAddress, redisAddress } from "../../ports/redis-address.ts";
import { StoreUnavailable, StoreUnusable } from "../../ports/store-errors.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { until, untilDone } from "../system/until.fixture.ts";
import { openRedisStore, type RedisStore } from "./redis-store.ts";
import { serverFault } from "./server-checks.ts";
import { SUBMISSION_MAX } from "./submit.ts";

const runtime = systemRuntime();
const passed = (ms: number) => new Promise<void>((resolve) => runtime.setTimer(ms, resolve));

let redis: TestRedis;
let stores = 0;
before(async () => {
  redis = await startRedis({ settings: DURABLE });
});
after(() => redis?.stop());

function addressOf({ url }: Pick<TestRedis, "url">, prefix = `test-${stores++}`): RedisAddress {
  return { ...(redisAddress(url) as RedisAddress), prefix };
}

/** A store with keys of its own. */
function opened(address = addressOf(redis)): Promise<RedisStore> {
  return openRedisStore({ address, runtime, node: runtime.uuid() });
}

async function sceneOn(store: RedisStore): Promise<Scene> {
  return await Scene.open({ store, runtime, close: () => store.close() });
}

storeConformance("Redis", async (isTelling = false) => {
  const store = await openRedisStore({
    ...{ address: addressOf(redis), runtime, node: runtime.uuid() },
    events: () => isTelling,
  });
  // No transaction of an application writes requests into Redis, so the store's own refusal ends each case that begins with one.
  const addRequests = async () => {
    await store.requests.get(TENANT, runtime.uuid());
    return [];
  };
  const unserved = new Set(["requests in SQL"] as const);
  return { store, runtime, submissionMax: SUBMISSION_MAX, unserved, addRequests, close: () => store.close() };
});

leasesConformance("Redis as the store", async () => {
  const address = addressOf(redis);
  const open: RedisStore[] = [await opened(address), await opened(address)];
  let given = 0;
  return {
    leases: () => (open[given++ % open.length] as RedisStore).leases,
    pass: passed,
    close: async () => void (await Promise.all(open.map((store) => store.close()))),
  };
});

describe("a Redis that cannot be the store", () => {
  const refused = (words: RegExp, address = addressOf(redis)) =>
    assert.rejects(opened(address), (error: Error) => error instanceof StoreUnusable && words.test(error.message));

  for (const [name, value, good, words] of [
    ["appendfsync", "everysec", "always", /appendfsync everysec: appendfsync must be always/],
    ["appendonly", "no", "yes", /appendonly no: appendonly must be yes/],
    [
      "maxmemory-policy",
      "allkeys-lru",
      "noeviction",
      /maxmemory-policy allkeys-lru: maxmemory-policy must be noeviction/,
    ],
    ["maxmemory", "0", "512mb", /maxmemory 0: maxmemory must be a size/],
    ["min-replicas-to-write", "1", "0", /min-replicas-to-write 1: min-replicas-to-write must be 0/],
  ] as const)
    it(`is refused with ${name} ${value}`, async () => {
      await redis.ask("CONFIG", "SET", name, value);
      try {
        await refused(words);
      } finally {
        await redis.ask("CONFIG", "SET", name, good);
      }
    });

  it("may write its file later if the durability is relaxed, and must keep one", async () => {
    const relaxed = { address: addressOf(redis), runtime, node: runtime.uuid(), isRelaxed: true };
    await redis.ask("CONFIG", "SET", "appendfsync", "everysec");
    await (await openRedisStore(relaxed)).close();
    await redis.ask("CONFIG", "SET", "appendonly", "no");
    await assert.rejects(openRedisStore(relaxed), /appendonly no: appendonly must be yes/);
    await redis.ask("CONFIG", "SET", "appendonly", "yes", "appendfsync", "always");
  });

  it("is refused as a replica, in another version, and as another program", async () => {
    const replica = await startRedis({ settings: DURABLE, replicaOf: redis.port });
    try {
      await refused(/MAINSPRING_STORE leads to a replica of Redis: name the primary/, addressOf(replica));
    } finally {
      await replica.stop();
    }
    const info = await redis.ask("INFO", "server");
    assert.equal(serverFault(info), null);
    const former = info.replace(/^redis_version:.*$/m, "redis_version:6.2.14");
    assert.equal(serverFault(former), "a Redis of version 6.2.14: it must be 7.0 or newer");
    assert.equal(serverFault("STAT uptime 1"), "a server that is no Redis");
  });

  it("is waited for while it loads its file, and while it is a replica without its primary", async () => {
    const debug = ["--enable-debug-command", "local", "--loading-process-events-interval-bytes", "1024"];
    const other = await startRedis({ settings: [...DURABLE, ...debug] });
    const waitedFor = (words: RegExp) =>
      assert.rejects(opened(addressOf(other)), (error: Error) => {
        assert.ok(error instanceof StoreUnavailable, error.message);
        assert.match(error.message, words);
        return true;
      });
    try {
      await other.ask("REPLICAOF", "127.0.0.1", "1");
      await waitedFor(/^Redis is a replica without its primary$/);
      await other.ask("REPLICAOF", "NO", "ONE");
      // Half a minute for all keys, unless the delay ends.
      await other.ask("DEBUG", "POPULATE", "300", "key", "1000");
      await other.ask("CONFIG", "SET", "key-load-delay", "100000");
      const loaded = other.ask("DEBUG", "RELOAD").catch(() => undefined);
      await until(async () => (await other.ask("INFO", "persistence")).includes("loading:1"));
      await waitedFor(/^Redis still loads its data$/);
      await other.ask("CONFIG", "SET", "key-load-delay", "0");
      await loaded;
      await (await untilDone(() => opened(addressOf(other)))).close();
    } finally {
      await other.stop();
    }
  });

  it("is refused as a node of a Redis Cluster, and with a user that may not use the store", async () => {
    const cluster = await startRedis({ settings: [...DURABLE, "--cluster-enabled", "yes"] });
    try {
      await refused(/a node of a Redis Cluster: it must be a Redis without cluster mode/, addressOf(cluster));
    } finally {
      await cluster.stop();
    }
    await redis.ask("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read", "+info", "+config|get");
    const login = { name: "reader", password: "pw" };
    await refused(/must have a user with the rights/, { ...addressOf(redis), login });
    await refused(/a user or a password that Redis refuses/, {
      ...addressOf(redis),
      login: { ...login, password: "x" },
    });
  });
});

describe("the store on Redis in trouble", () => {
  let other: TestRedis;
  let address: RedisAddress;
  let store: RedisStore;
  let scene: Scene;
  let ends = 0;
  before(async () => {
    other = await startRedis({ settings: DURABLE });
    address = addressOf(other);
    store = await opened(address);
    scene = await sceneOn(store);
    store.watchTakeovers(() => ends++);
  });
  after(async () => {
    await store?.close();
    await other?.stop();
  });

  it("takes no submissions when a tenth of the memory is left, and goes on to end jobs", async () => {
    const job = await scene.submitted();
    // Buffers of connections come and go. Beside 32 MiB they do not count.
    await other.ask("SETRANGE", "ballast", `${32 * 1024 * 1024}`, "x");
    // A store of its own has not asked for the memory yet.
    const fresh = await opened(address);
    const used = Number(/^used_memory:(\d+)/m.exec(await other.ask("INFO", "memory"))?.[1]);
    await other.ask("CONFIG", "SET", "maxmemory", `${Math.ceil(used * 1.05)}`);
    const submitted = fresh.submit([{ idempotency: null, jobs: [scene.job()] }]);
    await assert.rejects(submitted, /less than a tenth of its memory left/);
    await fresh.close();
    await other.ask("CONFIG", "SET", "maxmemory", "1");
    await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
    await other.ask("CONFIG", "SET", "maxmemory", "512mb");
    await other.ask("DEL", "ballast");
  });

  it("ends the takeover when Redis has become a replica, and takes over again later", async () => {
    const job = await scene.submitted();
    const before = ends;
    await other.ask("REPLICAOF", "127.0.0.1", "1");
    const tick = scene.tick(job.shard, { changes: [scene.succeeded(job)] });
    await assert.rejects(store.commit([tick]), (error: Error) => {
      assert.ok(error instanceof StoreUnavailable);
      assert.match(error.message, /a replica/);
      return true;
    });
    assert.equal(ends, before + 1);
    await other.ask("REPLICAOF", "NO", "ONE");
    await assert.rejects(store.commit([tick]), /connection of the takeover/);
    await untilDone(() => scene.takeOver());
    await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
  });

  it("fences every owner of before after Redis was killed, and has lost no job that it accepted", async () => {
    const jobs = Array.from({ length: 200 }, () => scene.job());
    const accepted = await Promise.all(
      jobs.map(async (job, i) => {
        if (i === 100) await other.kill();
        const answer = await store.submit([{ idempotency: null, jobs: [job] }]).catch(() => null);
        return answer?.[0]?.kind === "ACCEPTED" ? [job.executionId] : [];
      }),
    );
    await other.restart();
    const stale = scene.tick(1, {});
    // The store of another node has not taken over, so its connection counts.
    const next = await untilDone(() => opened(address));
    assert.deepEqual(await next.commit([stale]), [fenced(1)]);
    const there = await next.load(accepted.flat());
    assert.deepEqual(there.map(({ id }) => id).sort(), accepted.flat().sort());
    const heir = await sceneOn(next);
    assert.deepEqual(await next.commit([heir.tick(1)]), [applied(1)]);
    await next.close();
    await untilDone(() => scene.takeOver());
  });

  it("waits for its replicas, and does not know the outcome without them", async () => {
    const careful = await openRedisStore({ address: addressOf(other), runtime, node: runtime.uuid(), replicas: 1 });
    const alone = await careful.takeOver([{ shard: 0, epoch: 0 }], "n").catch((error: Error) => error);
    assert.ok(alone instanceof StoreUnavailable);
    assert.match(alone.message, /0 of 1 replicas of Redis have the write/);
    await careful.close();
  });
});

describe("upkeep of the store on Redis", () => {
  /** Number of bodies. Redis counts, because names contain ids as bytes, which may be line feeds. */
  const bodiesOf = async ({ prefix }: RedisAddress) =>
    Number(await redis.ask("EVAL", "return #redis.call('KEYS', ARGV[1])", "0", `${prefix}:b*`));

  it("keeps the bodies of a job and of a result that were told twice, and removes those that no call named", async () => {
    const address = addressOf(redis);
    const store = await opened(address);
    const scene = await sceneOn(store);
    const payload = Buffer.alloc(5_000, "x");
    const result = Buffer.alloc(6_000, "y");
    const [job, other] = [await scene.submitted({ payload }), scene.job({ payload })];
    const [again] = await store.submit([{ idempotency: null, jobs: [other, job] }]);
    assert.equal(again?.kind, "REFUSED");
    const changes = [scene.succeeded(job, { result })];
    await scene.applied(job.shard, { changes });
    const [missed] = await store.commit([scene.tick(job.shard, { changes })]);
    assert.deepEqual(missed?.missed, [job.executionId]);
    await store.maintain(runtime.now() + 7_200_000, { days: 1, deadDays: 1 });
    const view = await store.queries.getExecution(TENANT, job.executionId);
    assert.deepEqual([view?.payload?.length, view?.result?.length], [5_000, 6_000]);
    assert.equal(await bodiesOf(address), 2, "nothing of the refused submission");
    await store.close();
  });

  it("removes what has ended, with all that belongs to it, and keeps what is open", async () => {
    const address = addressOf(redis);
    const store = await opened(address);
    const scene = await sceneOn(store);
    const body = Buffer.alloc(5_000, "x");
    const [ended, open] = [
      await scene.submitted({ payload: body, labels: { a: "b" } }),
      await scene.submitted({ payload: body }),
    ];
    const key = { tenant: TENANT, key: "k", requestHash: "h" };
    const dead = scene.job();
    await store.submit([{ idempotency: key, jobs: [dead] }]);
    await scene.applied(ended.shard, { changes: [scene.succeeded(ended, { result: body })] });
    await scene.applied(dead.shard, { changes: [scene.succeeded(dead, { state: "DEAD" })] });
    const days = (count: number) => runtime.now() + count * 86_400_000;
    await store.maintain(days(2), { days: 1, deadDays: 90 });
    const left = async () => {
      const { items } = await store.queries.listExecutions(TENANT, {}, { after: null, limit: 10 });
      return items.map(({ executionId }) => executionId).sort();
    };
    assert.deepEqual(await left(), [open.executionId, dead.executionId].sort());
    assert.notEqual(await store.queries.answered(key), null);
    await store.maintain(days(91), { days: 1, deadDays: 90 });
    assert.deepEqual(await left(), [open.executionId]);
    assert.equal(await store.queries.answered(key), null);
    assert.equal((await store.queries.countExecutions(null, 10)).deadLetters, 0);
    assert.deepEqual(Buffer.from((await store.payloads([open.executionId])).get(open.executionId) ?? []), body);
    assert.equal(await bodiesOf(address), 1, "only the payload of the open execution");
    await store.close();
  });

  it("keeps the job and the payload of a replay whose letter it has removed, and then removes the replay with both", async () => {
    const address = addressOf(redis);
    const store = await opened(address);
    const scene = await sceneOn(store);
    const payload = Buffer.alloc(5_000, "x");
    const [job, replay] = [await scene.submitted({ payload, labels: { a: "b" } }), runtime.uuid()];
    await scene.applied(job.shard, { changes: [scene.succeeded(job, { state: "DEAD" })] });
    const letters = { tenant: TENANT, executionIds: [job.executionId], newIds: [replay], at: runtime.now() };
    const [settled] = await store.deadLetters.settle({ ...letters, action: "REPLAY" });
    assert.equal(settled?.outcome, "SETTLED");
    const maintained = () => store.maintain(runtime.now() + 91 * 86_400_000, { days: 1, deadDays: 90 });
    const left = async () => {
      const { items } = await store.queries.listExecutions(TENANT, {}, { after: null, limit: 10 });
      return items.map(({ executionId }) => executionId);
    };
    await maintained();
    assert.deepEqual(await left(), [replay]);
    assert.deepEqual(Buffer.from((await store.payloads([replay])).get(replay) ?? []), payload);
    const view = await store.queries.getJob(TENANT, job.jobId);
    assert.deepEqual([view?.state, view?.definition.labels, view?.payload?.length], ["ACTIVE", { a: "b" }, 5_000]);
    await scene.applied(job.shard, { changes: [scene.succeeded({ ...job, executionId: replay })] });
    await maintained();
    assert.deepEqual(await left(), []);
    assert.equal(await store.queries.getJob(TENANT, job.jobId), null);
    assert.equal(await bodiesOf(address), 0);
    await store.close();
  });
});
