import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Epoch } from "../../domain/ids.ts";
import { takeShards } from "../../ports/conformance/store-scene.conformance.ts";
import { type NewJob, type ShardCommit, StoreUnavailable } from "../../ports/store.ts";
import type { TakenOver } from "./history.ts";
import { StoreStage, WELL } from "./store.fixture.ts";

const LATE = { effectAfterMs: 5 * WELL.givesUpAfterMs };

describe("a takeover of the simulated store's shards", () => {
  it("shuts out what the same node has in doubt", async () => {
    const { stage, a, jobs, tick } = await told();
    stage.befalls("commit", LATE);
    await assert.rejects(a.commit(tick), StoreUnavailable);
    await takeShards(a, [1], "a");
    await stage.time.pass(LATE.effectAfterMs);
    assert.deepEqual(states(stage, jobs), ["PENDING", "PENDING"]);
    assert.deepEqual(stage.faults, [{ kind: "SHUT_OUT", node: "a", operation: "commit" }]);
  });

  it("shuts out the whole of what the owner before has in doubt, also what it keeps", async () => {
    const { stage, a, b, jobs, tick, takeovers } = await told();
    stage.befalls("commit", LATE);
    await assert.rejects(a.commit(tick), StoreUnavailable);
    await takeShards(b, [1], "b");
    await stage.time.pass(LATE.effectAfterMs);
    assert.deepEqual(states(stage, jobs), ["PENDING", "PENDING"]);
    const { at: _, ...takeover } = takeovers.at(-1) as TakenOver;
    const { epoch } = stage.data.shard(1);
    assert.deepEqual(takeover, {
      kind: "TAKEN_OVER",
      owner: "b",
      shards: [{ shard: 1, epoch, from: "a" }],
      shutOut: 1,
    });
  });

  it("breaks the connection of a caller that still waits", async () => {
    const { stage, a, b, jobs, tick } = await told();
    stage.befalls("commit", { effectAfterMs: 50 });
    await Promise.all([assert.rejects(a.commit(tick), /ended the connection/), takeShards(b, [2], "b")]);
    assert.deepEqual(states(stage, jobs), ["PENDING", "PENDING"]);
  });

  it("leaves the commits of a node that owned none of the shards alone", async () => {
    const { stage, a, b, jobs, tick } = await told();
    await takeShards(b, [5], "b");
    stage.befalls("commit", { effectAfterMs: 50 });
    await Promise.all([a.commit(tick), takeShards(stage.connect("c"), [5], "c")]);
    assert.deepEqual(states(stage, jobs), ["SUCCEEDED", "SUCCEEDED"]);
  });

  it("leaves what is done and only not answered as it is", async () => {
    const { stage, a, b, jobs, tick } = await told();
    stage.befalls("commit", { answerAfterMs: 50 });
    const [outcomes] = await Promise.all([a.commit(tick), stage.time.pass(5).then(() => takeShards(b, [1, 2], "b"))]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["APPLIED", "APPLIED"],
    );
    assert.deepEqual(states(stage, jobs), ["SUCCEEDED", "SUCCEEDED"]);
  });

  it("shuts out a takeover in doubt of the same node, which would fence its successor", async () => {
    const { stage, a } = await told();
    stage.befalls("takeOver", LATE);
    await assert.rejects(takeShards(a, [1], "a"), StoreUnavailable);
    const [epoch] = await takeShards(a, [1], "a");
    await stage.time.pass(LATE.effectAfterMs);
    assert.equal(stage.data.shard(1).epoch, epoch);
  });

  it("fences what arrives after it", async () => {
    const { stage, a, b, jobs, tick } = await told();
    await takeShards(b, [1], "b");
    assert.deepEqual(await statuses(a.commit(tick)), ["FENCED", "APPLIED"]);
    assert.deepEqual(states(stage, jobs), ["PENDING", "SUCCEEDED"]);
  });
});

/** Node `a` owns two shards and has a commit for both; node `b` is connected too. */
async function told() {
  const stage = new StoreStage();
  const scene = await stage.scene("a");
  const a = stage.connect("a");
  const [epoch] = (await takeShards(a, [1, 2], "a")) as [Epoch];
  const jobs = [await scene.submitted({ shard: 1 }), await scene.submitted({ shard: 2 })];
  const tick: ShardCommit[] = jobs.map((job) => scene.tick(job.shard, { epoch, changes: [scene.succeeded(job)] }));
  const takeovers: TakenOver[] = [];
  stage.data.observe((event) => event.kind === "TAKEN_OVER" && takeovers.push(event));
  return { stage, a, b: stage.connect("b"), jobs, tick, takeovers };
}

function states(stage: StoreStage, jobs: readonly NewJob[]) {
  return jobs.map(({ executionId }) => stage.data.executions.get(executionId)?.state);
}

async function statuses(answer: Promise<{ status: string }[]>): Promise<string[]> {
  return (await answer).map(({ status }) => status);
}
