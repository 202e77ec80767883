import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isFinal } from "../../domain/execution.ts";
import { SHARD_COUNT } from "../../domain/ids.ts";
import { defaultPool } from "../../domain/pool.ts";
import { birth, nodeEnds, nodeId, started } from "../../ports/conformance/runs-scene.conformance.ts";
import type { Scene } from "../../ports/conformance/store-scene.conformance.ts";
import type { NewJob, RowChange } from "../../ports/store.ts";
import type { AppliedChange } from "./history.ts";
import type { ExecutionRow } from "./rows/execution-row.ts";
import { StoreStage } from "./store.fixture.ts";
import type { StoreData } from "./store-data.ts";

const ALL = new Set(Array.from({ length: SHARD_COUNT }, (_, shard) => shard));
const SHARDS = 3;
/** States as an owner writes them, each with its queue. */
const TARGETS = [
  { state: "SUCCEEDED", queue: "NONE" },
  { state: "DEAD", queue: "NONE" },
  { state: "CANCELLED", queue: "NONE" },
  { state: "PENDING", queue: "READY" },
  { state: "PENDING", queue: "WAITING" },
  { state: "RUNNING", queue: "HELD" },
] as const;

const submitStep = fc.record({
  kind: fc.constant("SUBMIT" as const),
  shard: fc.nat(SHARDS - 1),
  key: fc.option(fc.nat(3)),
  isLater: fc.boolean(),
});
const changeStep = fc.record({
  kind: fc.constant("CHANGE" as const),
  target: fc.nat(50),
  wasState: fc.constantFrom("PENDING" as const, "RUNNING" as const),
  wasAttempt: fc.nat(2),
  begins: fc.nat(1),
  becomes: fc.constantFrom(...TARGETS),
  rank: fc.nat(5),
  staleness: fc.constantFrom(0, 0, 0, 1),
});
const takeOverStep = fc.record({ kind: fc.constant("TAKE_OVER" as const), shard: fc.nat(SHARDS - 1) });
type ChangeStep = typeof changeStep extends fc.Arbitrary<infer T> ? T : never;
const steps = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: submitStep },
    { weight: 6, arbitrary: changeStep },
    { weight: 1, arbitrary: takeOverStep },
  ),
  { minLength: 20, maxLength: 120 },
);

describe("the simulated store's truth", () => {
  it("keeps its promises whatever owners ask for, in whatever order", async () => {
    let applied = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (told) => {
        const { changes } = await play(told);
        applied += changes.length;
      }),
      { numRuns: 100 },
    );
    assert.ok(applied > 100, "a property of nothing proves nothing");
  });

  it("refuses what it is told to, and takes the rest", async () => {
    const stage = new StoreStage({ refuses: ({ result }) => (result?.length === 3 ? "three bytes" : null) });
    const scene = await stage.scene("a");
    const [bad, good] = [await scene.submitted({ shard: 1 }), await scene.submitted({ shard: 1 })];
    const changes = [scene.succeeded(bad, { result: Buffer.from("[1]") }), scene.succeeded(good)];
    const [outcome] = await scene.store.commit([scene.tick(1, { changes })]);
    assert.deepEqual(outcome?.refused, [{ id: bad.executionId, message: "three bytes" }]);
    assert.equal(stage.data.executions.get(good.executionId)?.state, "SUCCEEDED");
  });

  it("forgets what retention lets go, and only that", async () => {
    const stage = new StoreStage();
    const scene = await stage.scene("a");
    const jobs = [await scene.submitted({ shard: 1 }), await scene.submitted({ shard: 1 }), await scene.submitted()];
    const [done, dead] = jobs as [NewJob, NewJob];
    await scene.applied(1, { changes: [scene.succeeded(done), scene.succeeded(dead, { state: "DEAD" })] });
    await scene.store.maintain(stage.time.now() + 31 * 86_400_000, { days: 30, deadDays: 90 });
    const known = jobs.map(({ executionId, jobId }) => [
      stage.data.executions.get(executionId) !== undefined,
      stage.data.jobs.get(jobId) !== undefined,
    ]);
    assert.deepEqual(known, [
      [false, false],
      [true, true],
      [true, true],
    ]);
  });

  it("tells its observers what a commit has done to runs of workflows", async () => {
    const stage = new StoreStage();
    const scene = await stage.scene("a");
    const run = await started(scene, { shard: 1 });
    const told: unknown[] = [];
    stage.data.observe((event) => {
      if (event.kind !== "COMMITTED") return;
      const runs = event.runs.map(({ before, after }) => [before.mode, after.mode, after.revision]);
      told.push([runs, event.nodes.map(({ id, node, trigger }) => [id, node, trigger]), event.born]);
    });
    const changes = [nodeEnds(scene, run, 0)];
    const runs = [{ run: run.executionId, wasRevision: 1, revision: 2, mode: "CANCELLING" as const, paused: false }];
    await scene.applied(1, { changes, runs, births: [birth(scene, run, 2, [0])] });
    assert.deepEqual(told, [[[["RUNNING", "CANCELLING", 2]], [[nodeId(run.executionId, 2), 2, "NODE"]], []]]);
    assertIndexed(stage.data);
  });

  it("has the pools that somebody has set up", async () => {
    const stage = new StoreStage();
    const pool = { ...defaultPool("gpu"), paused: true, order: "FIFO", placement: "ROUND_ROBIN" } as const;
    stage.data.pools.set(pool.name, pool);
    assert.deepEqual(await stage.connect("a").readPools(), [pool]);
  });
});

/** Runs a sequence of steps and checks the tables after each; only the history records which changes were applied. */
async function play(told: readonly (typeof steps extends fc.Arbitrary<(infer T)[]> ? T : never)[]) {
  const stage = new StoreStage();
  const scene = await stage.scene("a");
  const changes: AppliedChange[] = [];
  stage.data.observe((event) => {
    if (event.kind !== "COMMITTED") return;
    assert.equal(event.outcome.status === "APPLIED", event.asked.epoch === scene.epochOf(event.asked.shard));
    for (const change of event.applied) changes.push(assertOnward(change));
  });
  const jobs: NewJob[] = [];
  for (const step of told) {
    if (step.kind === "TAKE_OVER") await scene.takeOver([step.shard]);
    else if (step.kind === "SUBMIT") {
      const scheduledAt = stage.time.now() + (step.isLater ? 60_000 : 0);
      const uniqueKey = step.key === null ? null : String(step.key);
      const job = scene.job({ shard: step.shard, uniqueKey, scheduledAt });
      await scene.store.submit([{ idempotency: null, jobs: [job] }]);
      jobs.push(job);
    } else if (jobs.length > 0) await change(scene, step, jobs[step.target % jobs.length] as NewJob);
    assertKeysUnique(stage.data);
  }
  assertIndexed(stage.data);
  return { changes };
}

async function change(scene: Scene, step: ChangeStep, job: NewJob): Promise<void> {
  const { wasState, wasAttempt, begins, becomes, rank, staleness } = step;
  const fields: Partial<RowChange> = { wasState, wasAttempt, attempt: wasAttempt + begins, rank, ...becomes };
  const releaseUniqueKey = isFinal(becomes.state);
  const changes = [scene.succeeded(job, { ...fields, releaseUniqueKey })];
  await scene.store.commit([scene.tick(job.shard, { epoch: scene.epochOf(job.shard) - staleness, changes })]);
}

function assertOnward(change: AppliedChange): AppliedChange {
  assert.ok(!isFinal(change.before.state), "final states absorb");
  assert.ok(change.after.attempt >= change.before.attempt, "attempts never go back");
  return change;
}

function assertKeysUnique(data: StoreData): void {
  const held = new Set<string>();
  for (const { job, state } of data.executions.all()) {
    const key = job.definition.uniqueKey;
    if (key === null || isFinal(state)) continue;
    assert.ok(!held.has(key), "a unique key is held once");
    assert.equal(data.uniqueKeys.holderOf(job)?.executionId, job.executionId);
    held.add(key);
  }
}

/** Checks that each index agrees with a scan of all rows. */
function assertIndexed(data: StoreData): void {
  const rows = [...data.executions.all()];
  const idsOf = (some: readonly ExecutionRow[]) => some.map(({ id }) => id).sort();
  const inQueue = (queue: ExecutionRow["queue"]) => idsOf(rows.filter((row) => row.queue === queue));
  const lanes = data.executions.lanes(null, 1_000);
  assert.deepEqual(idsOf(lanes.flatMap((lane) => data.executions.ready(ALL, lane, null, 1_000))), inQueue("READY"));
  assert.deepEqual(idsOf(data.executions.waiting(ALL, Number.MAX_SAFE_INTEGER, 1_000)), inQueue("WAITING"));
  assert.deepEqual(idsOf([...ALL].flatMap((shard) => data.executions.held(shard))), inQueue("HELD"));
  assert.deepEqual(idsOf(data.executions.open(ALL, null, 1_000)), inQueue("OPEN"));
}
