import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Scene, takeShards } from "../../ports/conformance/store-scene.conformance.ts";
import { type NewJob, StoreUnavailable } from "../../ports/store.ts";
import { StoreStage, WELL } from "./store.fixture.ts";

const NEVER = { effectAfterMs: null };
const LOST = { answerAfterMs: null };
/** The effect happens after five times the caller's timeout. */
const LATE = { effectAfterMs: 5 * WELL.givesUpAfterMs };

describe("a call to the simulated store", () => {
  it("is done although its answer is lost", async () => {
    const { stage, scene, job, succeed } = await told();
    stage.befalls("commit", LOST);
    await assert.rejects(succeed(), StoreUnavailable);
    assert.equal(state(stage, job), "SUCCEEDED");
    assert.deepEqual(stage.faults, [{ kind: "ANSWER_LOST", node: "a", operation: "commit" }]);
    assert.deepEqual(await scene.store.load([job.executionId]), []);
  });

  it("is not done when it never arrived", async () => {
    const { stage, job, succeed } = await told();
    stage.befalls("commit", NEVER);
    const began = stage.time.monotonicMs();
    await assert.rejects(succeed(), StoreUnavailable);
    assert.equal(stage.time.monotonicMs() - began, WELL.givesUpAfterMs);
    await stage.time.pass(10_000);
    assert.equal(state(stage, job), "PENDING");
    assert.deepEqual(kinds(stage), ["NEVER_ARRIVED"]);
  });

  it("may be done after its caller has given up", async () => {
    const { stage, job, succeed } = await told();
    stage.befalls("commit", LATE);
    await assert.rejects(succeed(), StoreUnavailable);
    assert.equal(state(stage, job), "PENDING");
    await stage.time.pass(LATE.effectAfterMs);
    assert.equal(state(stage, job), "SUCCEEDED");
    assert.deepEqual(kinds(stage), ["LATE_EFFECT"]);
  });

  it("shows what was true when it was done, however late the answer", async () => {
    const { stage, scene, job, succeed } = await told();
    stage.befalls("load", { answerAfterMs: 50 });
    const [read] = await Promise.all([scene.store.load([job.executionId]), stage.time.pass(5).then(succeed)]);
    assert.equal(read[0]?.state, "PENDING");
    assert.equal(state(stage, job), "SUCCEEDED");
  });

  it("carries what it was given when it was made", async () => {
    const { stage, scene, job } = await told();
    const tick = scene.tick(1, { changes: [scene.succeeded(job)] });
    const commit = scene.store.commit([tick]);
    (tick.changes as unknown[]).length = 0;
    await commit;
    assert.equal(state(stage, job), "SUCCEEDED");
  });

  it("is done although its node has died, and nobody hears of it", async () => {
    const stage = new StoreStage();
    let isAlive = true;
    const store = stage.connect("a", (run) => isAlive && run());
    const scene = await Scene.open({ store, runtime: stage.time, close: () => store.close() });
    const job = scene.job();
    void store.submit([{ idempotency: null, jobs: [job] }]).then(() => assert.fail("the dead hear nothing"));
    isAlive = false;
    await stage.time.pass(1_000);
    assert.equal(state(stage, job), "PENDING");
  });

  it("may fail for the submissions with keys when those without are done", async () => {
    const { stage, scene } = await told();
    const [plain, keyed] = [scene.job(), scene.job({ uniqueKey: "u" })];
    stage.befalls("submit", {});
    stage.befalls("submit", NEVER);
    const batch = [keyed, plain].map((job) => ({ idempotency: null, jobs: [job] }));
    await assert.rejects(scene.store.submit(batch), StoreUnavailable);
    assert.deepEqual([state(stage, plain), state(stage, keyed)], ["PENDING", undefined]);
  });

  it("waits while a commit of the same node is under way", async () => {
    const { stage, scene, job, succeed } = await told();
    stage.befalls("commit", { effectAfterMs: 50 });
    const [outcomes] = await Promise.all([succeed(), takeShards(scene.store, [1], "a")]);
    assert.equal(outcomes[0]?.status, "APPLIED");
    assert.equal(state(stage, job), "SUCCEEDED");
  });

  it("is answered before the connection closes, and not made after", async () => {
    const { scene, job } = await told();
    const load = scene.store.load([job.executionId]);
    let isAnswered = false;
    void load.then(() => {
      isAnswered = true;
    });
    await scene.store.close();
    assert.ok(isAnswered);
    await assert.rejects(scene.store.clock(), StoreUnavailable);
  });
});

/** Node `a` owns all shards, and shard 1 has a job that the node may commit. */
async function told() {
  const stage = new StoreStage();
  const scene = await stage.scene("a");
  const job = await scene.submitted({ shard: 1 });
  const succeed = () => scene.store.commit([scene.tick(1, { changes: [scene.succeeded(job)] })]);
  return { stage, scene, job, succeed };
}

function state(stage: StoreStage, { executionId }: NewJob) {
  return stage.data.executions.get(executionId)?.state;
}

function kinds(stage: StoreStage) {
  return stage.faults.map(({ kind }) => kind);
}
