import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { DURABLE } from "../../../../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../../../../tools/services/start-redis.ts";
import { ALL_SHARDS, Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import { type RedisAddress, redisAddress } from "../../../ports/redis-address.ts";
import type { NewJob } from "../../../ports/store.ts";
import { StoreUnavailable } from "../../../ports/store-errors.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { until, untilDone } from "../../system/until.fixture.ts";
import { openRedisStore, type RedisStore } from "../redis-store.ts";

const runtime = systemRuntime();

describe("a store on Redis whose replica becomes the primary", () => {
  let primary: TestRedis;
  let replica: TestRedis;
  const open: RedisStore[] = [];

  beforeEach(async () => {
    primary = await startRedis({ settings: DURABLE });
    replica = await startRedis({ settings: DURABLE, replicaOf: primary.port });
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((store) => store.close()));
    await replica?.stop();
    await primary?.stop();
  });

  async function opened(replicas = 0): Promise<{ store: RedisStore; scene: Scene }> {
    const address = redisAddress(primary.url) as RedisAddress;
    const store = await openRedisStore({ address, runtime, node: runtime.uuid(), replicas });
    open.push(store);
    return { store, scene: await Scene.open({ store, runtime, close: () => store.close() }) };
  }

  /** Kills the primary, and lets the replica answer in its place. */
  async function failOver(): Promise<void> {
    const { port } = primary;
    await primary.kill();
    await replica.promote();
    await replica.moveTo(port);
  }

  it("loses no write that was answered after the replica had it, and gives every shard a later epoch", async () => {
    const { store, scene } = await opened(1);
    const job = await scene.submitted();
    await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
    const epoch = scene.epochOf(job.shard);
    let ends = 0;
    store.watchTakeovers(() => ends++);
    await failOver();
    const view = await untilDone(() => store.queries.getExecution(TENANT, job.executionId));
    assert.equal(view?.state, "SUCCEEDED");
    const holders = await untilDone(() => store.readShards());
    assert.equal(holders[job.shard]?.owner, null);
    assert.ok((holders[job.shard]?.epoch ?? 0) > epoch);
    assert.ok(ends > 0);
  });

  it("skips the numbers of attempts and of kinds that the primary gave out while the replica did not follow it", async () => {
    const { store, scene } = await opened();
    const job = await scene.submitted();
    await replica.promote();
    await scene.applied(job.shard, { assigned: [scene.entry(job)] });
    const lost = await scene.submitted({ handler: "lost" });
    await failOver();
    const { journals, lostAttempts } = await untilDone(() => store.recover([job.shard]));
    assert.deepEqual(journals, []);
    assert.equal(lostAttempts?.last, 100_000);
    assert.ok(lostAttempts.until > runtime.now());
    const [known, ...others] = await untilDone(() => store.load([job.executionId, lost.executionId]));
    assert.deepEqual([known?.attempt, others], [0, []]);
    const [first, second] = await untilDone(async () => [
      await scene.submitted({ handler: "first" }),
      await scene.submitted({ handler: "lost" }),
    ]);
    const rows = await store.load([first, second].map((later) => later?.executionId ?? ""));
    assert.deepEqual(rows.map(({ handler }) => handler).sort(), ["first", "lost"]);
  });

  it("begins a later generation than the one that a node has known and the new primary has lost", async () => {
    const { store } = await opened();
    await replica.promote();
    await primary.kill();
    await primary.restart();
    const lost = async () => (await untilDone(() => store.recover([0]))).lostAttempts?.last;
    assert.equal(await lost(), 100_000);
    await failOver();
    assert.equal(await lost(), 200_000);
  });

  it("keeps every submission and assignment under load that it has answered", async () => {
    const { store, scene } = await opened(1);
    const [accepted, assigned]: [NewJob[], NewJob[]] = [[], []];
    const assign = (job: NewJob) => scene.tick(job.shard, { assigned: [scene.entry(job)] });
    const stopping = new AbortController();
    const load = async () => {
      while (!stopping.signal.aborted) {
        const job = scene.job();
        const [outcome] = await store.submit([{ idempotency: null, jobs: [job] }]).catch(() => []);
        if (outcome?.kind !== "ACCEPTED") continue;
        accepted.push(job);
        const [written] = await store.commit([assign(job)]).catch(() => []);
        if (written?.status === "APPLIED") assigned.push(job);
      }
    };
    const loads = Array.from({ length: 4 }, load);
    await until(() => assigned.length > 20);
    await failOver();
    stopping.abort();
    await Promise.all(loads);
    const there = await untilDone(() => store.load(accepted.map(({ executionId }) => executionId)));
    assert.equal(there.length, accepted.length);
    const { inFlight } = await untilDone(() => store.recover(ALL_SHARDS));
    const journals = new Set(inFlight.map(({ row }) => row.id));
    assert.deepEqual(
      assigned.filter(({ executionId }) => !journals.has(executionId)),
      [],
    );
  });

  it("does not know the outcome of a submission, nor answers its repeat, until the replica has it", async () => {
    const { store, scene } = await opened(1);
    const [key, job] = [{ tenant: TENANT, key: "k", requestHash: "h" }, scene.job()];
    // The number of the kind is known, so that the submission is the first call that waits.
    await scene.submitted();
    const submit = () => store.submit([{ idempotency: key, jobs: [job] }]);
    replica.freeze();
    const inDoubt = /0 of 1 replicas of Redis have the write/;
    await assert.rejects(submit(), (error: Error) => error instanceof StoreUnavailable && inDoubt.test(error.message));
    await assert.rejects(submit(), inDoubt);
    await assert.rejects(store.queries.answered(key), inDoubt);
    replica.resume();
    const [outcome] = await untilDone(submit);
    assert.ok(outcome?.kind === "ACCEPTED" && outcome.replayed);
    await failOver();
    assert.equal((await untilDone(() => store.load([job.executionId]))).length, 1);
  });

  it("fails a call on a server that has become a replica as an outage, also where the call waits for replicas", async () => {
    const { store, scene } = await opened(1);
    const job = scene.job();
    await scene.submitted();
    replica.freeze();
    const waiting = assert.rejects(store.submit([{ idempotency: null, jobs: [job] }]), StoreUnavailable);
    await primary.ask("REPLICAOF", "127.0.0.1", "1");
    await waiting;
    await assert.rejects(store.submit([{ idempotency: null, jobs: [job] }]), StoreUnavailable);
    await assert.rejects(store.queries.answered({ tenant: TENANT, key: "k", requestHash: "h" }), StoreUnavailable);
    replica.resume();
  });
});
