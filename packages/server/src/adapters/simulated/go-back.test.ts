import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { birth, execution, nodeEnds, started } from "../../ports/conformance/runs-scene.conformance.ts";
import { takeShards } from "../../ports/conformance/store-scene.conformance.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import { StoreStage } from "./store.fixture.ts";

describe("a simulated store that goes back to an earlier state", () => {
  it("has the rows, journals and epochs of then, and later changes do not touch the copy", async () => {
    const { stage, scene, job } = await told();
    const before = stage.data.holders();
    const copy = stage.data.copy();
    const later = await scene.submitted({ shard: 1 });
    await scene.applied(1, { changes: [scene.succeeded(job)], assigned: [scene.entry(later)] });
    await takeShards(stage.connect("b"), [1], "b");
    stage.data.goBack(copy);
    assert.equal(stage.data.executions.get(job.executionId)?.state, "PENDING");
    assert.equal(stage.data.executions.get(later.executionId), undefined);
    assert.deepEqual(stage.data.shard(1).journals(), []);
    assert.deepEqual(stage.data.holders(), before);
  });

  it("has the runs of workflows and their nodes of then", async () => {
    const { stage, scene } = await told();
    const run = await started(scene, { shard: 1 });
    const copy = stage.data.copy();
    await scene.applied(1, {
      changes: [nodeEnds(scene, run, 0, { branch: "left" })],
      births: [birth(scene, run, 2, [0])],
      runs: [{ run: run.executionId, wasRevision: 1, revision: 2, mode: "FAILING", paused: false }],
    });
    const later = await started(scene, { shard: 1 });
    stage.data.goBack(copy);
    const [known, ...others] = await stage.connect("b").runs.load([run.executionId, later.executionId]);
    assert.deepEqual([known?.mode, known?.revision, others], ["RUNNING", 1, []]);
    assert.deepEqual(known?.executions, [execution(run, 0), execution(run, 1)]);
  });

  it("gives no epoch a second time", async () => {
    const { stage } = await told();
    const copy = stage.data.copy();
    const [lost = 0] = await takeShards(stage.connect("b"), [1], "b");
    stage.data.goBack(copy);
    const [epoch = 0] = await takeShards(stage.connect("c"), [1], "c");
    assert.ok(epoch > lost, `${epoch} after ${lost}`);
  });

  it("takes commits only of those who have taken over since then, and tells the others", async () => {
    const { stage, scene, job } = await told();
    const copy = stage.data.copy();
    const store = stage.connect("a");
    const [epoch] = await takeShards(store, [1], "a");
    assert.ok(epoch);
    let heard = 0;
    store.watchTakeovers(() => heard++);
    stage.data.goBack(copy);
    store.breakOff();
    const tick = scene.tick(1, { epoch, changes: [scene.succeeded(job)] });
    await assert.rejects(store.commit([tick]), StoreUnavailable);
    assert.equal(heard, 1);
    const [anew] = await takeShards(store, [1], "a");
    assert.ok(anew);
    const [outcome] = await store.commit([{ ...tick, epoch: anew }]);
    assert.equal(outcome?.status, "APPLIED");
  });

  it("refuses owners on another server until the next generation, whose epochs and attempts are beyond the lost ones", async () => {
    const { stage, scene, job } = await told();
    const copy = stage.data.copy();
    const store = stage.connect("a");
    const [lost = 0] = await takeShards(store, [1], "a");
    let heard = 0;
    store.watchTakeovers(() => heard++);
    stage.data.rewind(copy);
    const tick = scene.tick(1, { epoch: lost, changes: [scene.succeeded(job)] });
    await assert.rejects(store.commit([tick]), StoreUnavailable);
    assert.equal(heard, 1);
    const holder = stage.data.holders()[1];
    assert.equal(holder?.owner, null);
    assert.ok((holder?.epoch ?? 0) > lost);
    assert.equal((await store.recover([1])).lostAttempts?.last, 100_000);
    const [epoch] = await takeShards(store, [1], "a");
    const [outcome] = await store.commit([{ ...tick, epoch: epoch ?? 0 }]);
    assert.equal(outcome?.status, "APPLIED");
  });

  it("answers nobody who asked before, whether it was done or not", async () => {
    const { stage, scene, job } = await told();
    const copy = stage.data.copy();
    stage.befalls("commit", { answerAfterMs: 50 });
    stage.befalls("load", { effectAfterMs: 50 });
    const store = stage.connect("a");
    const [epoch] = await takeShards(store, [1], "a");
    assert.ok(epoch);
    const tick = scene.tick(1, { epoch, changes: [scene.succeeded(job)] });
    const asked = [store.commit([tick]), store.load([job.executionId])].map((answer) =>
      assert.rejects(answer, StoreUnavailable),
    );
    await stage.time.pass(10);
    assert.equal(stage.data.executions.get(job.executionId)?.state, "SUCCEEDED");
    stage.data.goBack(copy);
    store.breakOff();
    await Promise.all(asked);
    await stage.time.pass(1_000);
    assert.equal(stage.data.executions.get(job.executionId)?.state, "PENDING");
  });
});

async function told() {
  const stage = new StoreStage();
  const scene = await stage.scene("scene");
  return { stage, scene, job: await scene.submitted({ shard: 1 }) };
}
