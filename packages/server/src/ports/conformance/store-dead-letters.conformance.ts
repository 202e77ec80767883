import assert from "node:assert/strict";
import { it } from "node:test";
import { defaultPool } from "../../domain/pool.ts";
import { rankOf } from "../../domain/rank.ts";
import type { NewJob } from "../store.ts";
import type { DeadLetterAction, DeadLetterFilter } from "../store-dead-letters.ts";
import { ALL_SHARDS, type JobSample, type Scene, TENANT } from "./store-scene.conformance.ts";

export function deadLettersConformance(scene: () => Scene): void {
  const error = { name: "Error", message: "no" };
  const dead = async (sample: JobSample = {}): Promise<NewJob> => {
    const job = await scene().submitted(sample);
    const releaseUniqueKey = job.definition.uniqueKey !== null;
    const change = scene().succeeded(job, { state: "DEAD", reason: "ATTEMPTS_USED_UP", error, releaseUniqueKey });
    await scene().applied(job.shard, { changes: [change] });
    return job;
  };
  const idsOf = (count: number) => Array.from({ length: count }, () => scene().runtime.uuid());
  const settle = (action: DeadLetterAction, ...jobs: NewJob[]) => {
    const executionIds = jobs.map(({ executionId }) => executionId);
    const at = scene().runtime.now();
    return scene().store.deadLetters.settle({ tenant: TENANT, action, executionIds, newIds: idsOf(jobs.length), at });
  };
  const listed = async (filter: DeadLetterFilter = {}) => {
    const { items } = await scene().store.deadLetters.list(TENANT, filter, { after: null, limit: 100 });
    return items.map(({ executionId }) => executionId);
  };
  const begin = async (action: DeadLetterAction, filter: DeadLetterFilter = {}) => {
    const runId = scene().runtime.uuid();
    await scene().store.deadLetters.begin({
      runId,
      tenant: TENANT,
      action,
      filter,
      createdAt: scene().runtime.now() + 1,
    });
    return runId;
  };
  const advance = (runId: string, count: number) =>
    scene().store.deadLetters.advance(runId, idsOf(count), scene().runtime.now() + 2);

  it("lists what used up its budget, newest first, page by page, with its error", async () => {
    const jobs = [await dead(), await dead(), await dead()];
    await scene().submitted();
    const { deadLetters } = scene().store;
    const first = await deadLetters.list(TENANT, {}, { after: null, limit: 2 });
    const second = await deadLetters.list(TENANT, {}, { after: first.next, limit: 2 });
    const all = [...first.items, ...second.items];
    assert.deepEqual(
      all.map(({ executionId }) => executionId),
      jobs.map(({ executionId }) => executionId).reverse(),
    );
    assert.deepEqual([all[0]?.state, all[0]?.reason, all[0]?.error], ["DEAD", "ATTEMPTS_USED_UP", error]);
    assert.equal(second.next, null);
    assert.deepEqual(await deadLetters.list("acme", {}, { after: null, limit: 2 }), { items: [], next: null });
  });

  it("lists by pool, handler, job and the time of death", async () => {
    const [gpu, render] = [await dead({ pool: "gpu" }), await dead({ handler: "render" })];
    const diedAt = (await scene().store.queries.getExecution(TENANT, gpu.executionId))?.finishedAt as number;
    assert.deepEqual(await listed({ pool: "gpu" }), [gpu.executionId]);
    assert.deepEqual(await listed({ handler: "render" }), [render.executionId]);
    assert.deepEqual(await listed({ jobId: gpu.jobId, since: diedAt, until: diedAt + 1 }), [gpu.executionId]);
    assert.deepEqual(await listed({ since: diedAt + 60_000 }), []);
    assert.deepEqual(await listed({ until: diedAt }), []);
  });

  it("replays a letter as a new execution of its job, which is ready at once, and the letter leaves the list", async () => {
    const now = scene().runtime.now();
    const limits = { timeoutMs: 5_000, maxLifetimeMs: 60_000, startBefore: now + 1 };
    const policy = { ...scene().job().definition.policy, ...limits };
    const job = await dead({
      requires: ["gpu"],
      priority: 8,
      concurrencyKey: "acme",
      policy,
      payload: Buffer.from("7"),
    });
    const [settled] = await settle("REPLAY", job);
    assert.ok(settled?.outcome === "SETTLED" && settled.newId !== null);
    assert.deepEqual(await listed(), []);
    const [row] = await scene().store.readReady(ALL_SHARDS, job.laneHash, null, 10);
    assert.ok(row);
    const { jobId, shard } = job;
    const { concurrencyKey, requires, attempt, failures, payloadBytes } = row;
    assert.deepEqual([row.id, row.jobId, row.shard, row.state], [settled.newId, jobId, shard, "PENDING"]);
    assert.deepEqual(
      { concurrencyKey, requires, attempt, failures, payloadBytes },
      {
        ...{ concurrencyKey: "acme", requires: ["gpu"], attempt: 0, failures: 0, payloadBytes: 1 },
      },
    );
    assert.deepEqual(row.policy, { ...policy, startBefore: null }, "a time that has passed would skip it");
    assert.equal(row.rank, rankOf(defaultPool("default"), row.dueAt, 8));
    const payloads = await scene().store.payloads([settled.newId]);
    assert.equal(Buffer.from(payloads.get(settled.newId) ?? []).toString(), "7");
    const view = await scene().store.queries.getExecution(TENANT, settled.newId);
    assert.deepEqual([view?.trigger, view?.retryOf, view?.attempts], ["RETRY", job.executionId, []]);
    const old = await scene().store.queries.getExecution(TENANT, job.executionId);
    assert.deepEqual([old?.state, old?.reason, old?.attempts.length], ["DEAD", "ATTEMPTS_USED_UP", 1]);
    assert.equal((await scene().store.queries.getJob(TENANT, jobId))?.state, "ACTIVE");
  });

  it("orders a replay as its pool orders its work now", async () => {
    await scene().store.putPool({ name: "slow", order: "FIFO" });
    await scene().store.putPool({ name: "steep", priorityStepMs: 60_000 });
    const [fifo, steep] = [await dead({ pool: "slow", priority: 9 }), await dead({ pool: "steep", priority: 9 })];
    await settle("REPLAY", fifo, steep);
    const [first] = await scene().ready(fifo);
    const [second] = await scene().ready(steep);
    assert.equal(first?.rank, first?.dueAt);
    assert.equal(second?.rank, (second?.dueAt ?? 0) - 9 * 60_000);
  });

  it("settles a letter once, however often it is asked, and nothing that is none", async () => {
    const [replayed, discarded] = [await dead(), await dead()];
    const [running, foreign] = [await scene().submitted(), await dead({ tenant: "acme" })];
    const outcomes = async (...asked: Promise<{ outcome: string }[]>[]) =>
      (await Promise.all(asked)).flat().map(({ outcome }) => outcome);
    const twice = await outcomes(settle("REPLAY", replayed), settle("REPLAY", replayed));
    assert.deepEqual(twice.sort(), ["NOT_A_DEAD_LETTER", "SETTLED"]);
    assert.deepEqual(await outcomes(settle("DISCARD", discarded, running, foreign, replayed)), [
      ...["SETTLED", "NOT_A_DEAD_LETTER", "NOT_A_DEAD_LETTER", "NOT_A_DEAD_LETTER"],
    ]);
    assert.deepEqual(await outcomes(settle("REPLAY", discarded, discarded)), Array(2).fill("NOT_A_DEAD_LETTER"));
    assert.equal((await scene().ready(replayed)).length, 2, "the replay, and the one that never ran");
    assert.deepEqual(await listed(), []);
  });

  it("takes the unique key for the replay, or leaves the letter where another execution has it", async () => {
    const [first, second] = [await dead({ uniqueKey: "u" }), await dead({ uniqueKey: "u" })];
    const outcomes = await settle("REPLAY", second, first);
    assert.deepEqual(
      outcomes.map(({ outcome, newId }) => [outcome, newId !== null]),
      [
        ["KEY_HELD", false],
        ["SETTLED", true],
      ],
      "in order of their ids, so that it is the same each time",
    );
    assert.deepEqual(await listed(), [second.executionId]);
    const repeat = scene().job({ uniqueKey: "u" });
    const [answer] = await scene().store.submit([{ idempotency: null, jobs: [repeat] }]);
    assert.ok(answer?.kind === "ACCEPTED");
    assert.equal(answer.jobs[0]?.executionId, outcomes[1]?.newId);
  });

  it("settles all that a filter matches in chunks, and knows how far it came", async () => {
    const jobs: NewJob[] = [];
    for (let i = 0; i < 5; i++) jobs.push(await dead({ pool: "gpu" }));
    const other = await dead();
    const { deadLetters } = scene().store;
    const runId = await begin("REPLAY", { pool: "gpu" });
    assert.deepEqual(await deadLetters.openRuns(), [runId]);
    const made: string[] = [];
    for (const [count, isOver] of [
      [2, false],
      [2, false],
      [2, true],
    ] as const) {
      const done = await advance(runId, count);
      assert.equal(done?.isOver, isOver);
      made.push(...(done?.made ?? []));
    }
    assert.equal(await advance(runId, 2), null, "it is over");
    const retried = await Promise.all(made.map((id) => scene().store.queries.getExecution(TENANT, id)));
    assert.deepEqual(
      retried.map((view) => view?.retryOf),
      jobs.map(({ executionId }) => executionId),
    );
    assert.deepEqual(await listed(), [other.executionId]);
    assert.deepEqual(await deadLetters.openRuns(), []);
    const run = await deadLetters.readRun(TENANT, runId);
    assert.deepEqual([run?.settled, run?.skipped, run?.filter, run?.action], [5, 0, { pool: "gpu" }, "REPLAY"]);
    assert.notEqual(run?.finishedAt, null);
    assert.equal(await deadLetters.readRun("acme", runId), null);
  });

  it("leaves alone what is made while a run goes on, and passes letters that cannot be settled", async () => {
    const [blocked, free] = [await dead({ uniqueKey: "u" }), await dead()];
    await scene().submitted({ uniqueKey: "u" });
    const runId = await begin("REPLAY");
    const young = await dead({ createdAt: scene().runtime.now() + 1_000 });
    assert.equal((await advance(runId, 1))?.made.length, 0);
    assert.equal((await advance(runId, 1))?.made.length, 1);
    assert.deepEqual(await advance(runId, 1), { made: [], isOver: true });
    assert.deepEqual((await listed()).sort(), [blocked.executionId, young.executionId].sort());
    assert.equal((await scene().store.deadLetters.readRun(TENANT, runId))?.skipped, 1);
    assert.equal((await scene().store.queries.getExecution(TENANT, free.executionId))?.state, "DEAD");
  });

  it("lets one at a time go on with a run", async () => {
    for (let i = 0; i < 6; i++) await dead();
    const runId = await begin("DISCARD");
    const chunks = await Promise.all([advance(runId, 3), advance(runId, 3), advance(runId, 3)]);
    assert.ok(
      chunks.every((chunk) => chunk === null || chunk.made.length === 0),
      "discarding makes nothing",
    );
    while ((await advance(runId, 3)) !== null);
    assert.deepEqual(await listed(), []);
    assert.equal((await scene().store.deadLetters.readRun(TENANT, runId))?.settled, 6);
  });
}
