import assert from "node:assert/strict";
import { it } from "node:test";
import type { ExecutionState } from "../../domain/execution.ts";
import type { ExecutionFilter, JobFilter } from "../store-queries.ts";
import { birth, nodeEnds, nodeId, runEnds, started } from "./runs-scene.conformance.ts";
import { ALL_SHARDS, type Scene, TENANT } from "./store-scene.conformance.ts";

const ERROR = { name: "Error", message: "no" };
const DAY_MS = 86_400_000;
const RETENTION = { days: 30, deadDays: 90 };

/** Reads of runs for the api, and what other lists show of workflows. */
export function runQueriesConformance(scene: () => Scene): void {
  const page = { after: null, limit: 10 };
  const upkeep = (inDays = 0) => scene().store.maintain(scene().runtime.now() + inDays * DAY_MS, RETENTION);

  it("tells everything of a run", async () => {
    const payload = Buffer.from('"input"');
    const asked = await started(scene(), { name: "etl", labels: { team: "x" }, payload, nodes: 5 });
    const changes = [nodeEnds(scene(), asked, 0), nodeEnds(scene(), asked, 1, { state: "DEAD", error: ERROR })];
    const runs = [{ run: asked.executionId, wasRevision: 1, revision: 4, mode: "FAILING" as const, paused: false }];
    await scene().applied(asked.shard, { changes, runs, births: [birth(scene(), asked, 2, [0])] });
    const end = { state: "DEAD", reason: "NODE_DEAD", error: ERROR } as const;
    await scene().applied(asked.shard, { changes: [runEnds(scene(), asked, end)] });
    const view = await scene().store.queries.getRun(TENANT, asked.executionId);
    assert.ok(view);
    assert.deepEqual(
      [view.executionId, view.jobId, view.name, view.labels, view.nodes, view.mode, view.revision],
      [asked.executionId, asked.jobId, "etl", { team: "x" }, 5, "FAILING", 4],
    );
    assert.deepEqual([view.state, view.reason, view.error, view.dueAt], ["DEAD", "NODE_DEAD", ERROR, asked.deadline]);
    assert.deepEqual(view.counts, { SUCCEEDED: 1, DEAD: 1, PENDING: 1 });
    assert.deepEqual(
      [view.graph, view.definitions, view.payload].map((bytes) => Buffer.from(bytes ?? [])),
      [asked.graph, asked.definitions, payload],
    );
    const { queries } = scene().store;
    assert.equal(await queries.getRun("other", asked.executionId), null);
    assert.equal(await queries.getRun(TENANT, nodeId(asked.executionId, 0)), null);
    const [listed] = (await queries.listRuns(TENANT, {}, page)).items;
    assert.deepEqual({ ...view, ...listed }, view);
    const execution = await queries.getExecution(TENANT, asked.executionId);
    assert.deepEqual([execution?.state, execution?.trigger, execution?.ofRun], ["DEAD", "API", undefined]);
    const node = await queries.getExecution(TENANT, nodeId(asked.executionId, 2));
    const job = await queries.getExecution(TENANT, (await scene().submitted()).executionId);
    assert.deepEqual([execution?.isRun, node?.isRun, job?.isRun], [true, undefined, undefined]);
    assert.equal(node?.ofRun?.run, asked.executionId);
  });

  it("lists runs by state, name and time, page by page", async () => {
    const [a, b, c] = [
      await started(scene(), { name: "a" }),
      await started(scene(), { name: "b" }),
      await started(scene(), { name: "a", createdAt: scene().runtime.now() - 7_200_000 }),
    ];
    await started(scene(), { tenant: "other" });
    await scene().applied(b.shard, { changes: [runEnds(scene(), b)] });
    const { queries } = scene().store;
    const found = async (filter: Parameters<typeof queries.listRuns>[1]) =>
      (await queries.listRuns(TENANT, filter, page)).items.map(({ executionId }) => executionId).sort();
    const ids = (...runs: (typeof a)[]) => runs.map(({ executionId }) => executionId).sort();
    assert.deepEqual(await found({}), ids(a, b, c));
    assert.deepEqual(await found({ state: "RUNNING" }), ids(a, c));
    assert.deepEqual(await found({ state: "SUCCEEDED" }), ids(b));
    assert.deepEqual(await found({ name: "a" }), ids(a, c));
    assert.deepEqual(await found({ since: a.createdAt - 3_600_000, name: "a" }), ids(a));
    const paged: string[] = [];
    for (let after: string | null = null; ; ) {
      const { items, next } = await queries.listRuns(TENANT, {}, { after, limit: 2 });
      paged.push(...items.map(({ executionId }) => executionId));
      if (next === null) break;
      after = next;
    }
    assert.deepEqual(paged, ids(a, b, c).reverse());
  });

  it("lists a run's nodes in their order, by state and node, page by page", async () => {
    const asked = await started(scene());
    await started(scene());
    const items = [1, 0].map((item) => birth(scene(), asked, 3, [], { item }));
    const end = nodeEnds(scene(), asked, 1, { state: "DEAD", error: ERROR, branch: "left" });
    await scene().applied(asked.shard, { changes: [end], births: [...items, birth(scene(), asked, 2)] });
    const { queries } = scene().store;
    const list = async (filter: Parameters<typeof queries.listNodes>[2], limit = 10) => {
      const places: unknown[] = [];
      for (let after: string | null = null; ; ) {
        const found = await queries.listNodes(TENANT, asked.executionId, filter, { after, limit });
        places.push(...found.items.map(({ ofRun }) => [ofRun.node, ofRun.item]));
        if (found.next === null) return places;
        after = found.next;
      }
    };
    const all = [
      [0, null],
      [1, null],
      [2, null],
      [3, 0],
      [3, 1],
    ];
    assert.deepEqual(await list({}), all);
    assert.deepEqual(await list({}, 1), all);
    assert.deepEqual(await list({ node: 3 }), all.slice(3));
    assert.deepEqual(await list({ state: "DEAD" }), [[1, null]]);
    const [dead] = (await queries.listNodes(TENANT, asked.executionId, { state: "DEAD" }, page)).items;
    assert.deepEqual(dead?.ofRun, { run: asked.executionId, node: 1, item: null, branch: "left" });
    assert.deepEqual([dead?.error, dead?.handler, dead?.executionId], [ERROR, "step-1", end.id]);
    assert.deepEqual((await queries.listNodes("other", asked.executionId, {}, page)).items, []);
  });

  it("shows runs and no nodes in the lists of executions and jobs", async () => {
    const asked = await started(scene(), { handler: "step-1" });
    const changes = [nodeEnds(scene(), asked, 0, { state: "CANCELLED" })];
    const waiting = birth(scene(), asked, 2, [], { queue: "WAITING", dueAt: scene().runtime.now() + 60_000 });
    await scene().applied(asked.shard, { changes, births: [waiting] });
    const { queries } = scene().store;
    const { executionId: run, jobId } = asked;
    const check = async () => {
      const executions = async (filter: ExecutionFilter) =>
        (await queries.listExecutions(TENANT, filter, page)).items.map(({ executionId }) => executionId);
      for (const filter of [
        {},
        { handler: "step-1" },
        { pool: "default" },
        { state: "RUNNING" as ExecutionState },
        { jobId },
      ])
        assert.deepEqual(await executions(filter), [run]);
      for (const state of ["PENDING", "CANCELLED", "SUCCEEDED", "DEAD"] as ExecutionState[])
        assert.deepEqual([await executions({ state }), await executions({ state, handler: "step-0" })], [[], []]);
      assert.deepEqual([await executions({ jobId: run }), await executions({ handler: "step-0" })], [[], []]);
      const jobs = async (filter: JobFilter) =>
        (await queries.listJobs(TENANT, filter, page)).items.map((job) => [job.jobId, job.state]);
      for (const filter of [{}, { state: "ACTIVE" }, { handler: "step-1" }] as const)
        assert.deepEqual(await jobs(filter), [[jobId, "ACTIVE"]]);
      assert.deepEqual(await jobs({ state: "FINISHED" }), []);
    };
    await check();
    await upkeep();
    await check();
    const { waiting: before, ready, held, openRuns } = await queries.countExecutions(null, 100);
    assert.deepEqual([before, ready, held, openRuns], [1, 1, 0, 1]);
    await scene().applied(asked.shard, { changes: [runEnds(scene(), asked, { state: "DEAD", error: ERROR })] });
    assert.equal((await queries.countExecutions(null, 100)).openRuns, 0);
  });

  it("has the run as the dead letter, and not its nodes", async () => {
    const asked = await started(scene());
    const dead = { state: "DEAD", error: ERROR } as const;
    await scene().applied(asked.shard, {
      changes: [nodeEnds(scene(), asked, 0, dead), nodeEnds(scene(), asked, 1, dead)],
      births: [birth(scene(), asked, 2, [0])],
    });
    const { deadLetters, queries } = scene().store;
    const listed = async () => (await deadLetters.list(TENANT, {}, page)).items.map(({ executionId }) => executionId);
    const letters = async () => [await listed(), (await queries.countExecutions(null, 100)).deadLetters];
    assert.deepEqual(await letters(), [[], 0]);
    await scene().applied(asked.shard, { changes: [runEnds(scene(), asked, dead)] });
    assert.deepEqual(await letters(), [[asked.executionId], 1]);
    const at = scene().runtime.now();
    const settle = async (action: "REPLAY" | "DISCARD", id: string) => {
      const newIds = [scene().runtime.uuid()];
      const [outcome] = await deadLetters.settle({ tenant: TENANT, action, executionIds: [id], newIds, at });
      return outcome?.outcome;
    };
    assert.equal(await settle("DISCARD", nodeId(asked.executionId, 0)), "NOT_A_DEAD_LETTER");
    assert.equal(await settle("REPLAY", asked.executionId), "OF_WORKFLOW");
    assert.equal(await settle("REPLAY", nodeId(asked.executionId, 0)), "OF_WORKFLOW");
    assert.equal(await settle("REPLAY", nodeId(asked.executionId, 2)), "NOT_A_DEAD_LETTER");
    const runId = scene().runtime.uuid();
    const replay = { runId, tenant: TENANT, action: "REPLAY", filter: {}, createdAt: at + 1 } as const;
    await deadLetters.begin(replay);
    const newIds = [scene().runtime.uuid(), scene().runtime.uuid()];
    assert.deepEqual(await deadLetters.advance(runId, newIds, at), { made: [], isOver: true });
    const { settled, skipped } = (await deadLetters.readRun(TENANT, runId)) ?? {};
    assert.deepEqual([settled, skipped, await letters()], [0, 1, [[asked.executionId], 1]]);
    assert.equal(await settle("DISCARD", asked.executionId), "SETTLED");
    assert.deepEqual(await letters(), [[], 0]);
  });

  it("refuses to change a workflow, or to run it again, as if it were a job of one execution", async () => {
    const asked = await started(scene(), { name: "etl" });
    const { tenant, jobId, definition, payload } = asked;
    const [commandId, at] = [scene().runtime.uuid(), scene().runtime.now()];
    const other = { ...definition, priority: 1 };
    const { jobs, readCommands } = scene().store;
    const change = { tenant, jobId, definition: other, payload, ifVersion: null, commandId, at };
    assert.deepEqual(await jobs.replace(change), { kind: "IS_WORKFLOW" });
    assert.deepEqual(await jobs.putNamed({ job: scene().job(other), commandId }), { kind: "IS_WORKFLOW" });
    const again = { ...scene().job({ jobId, executionId: scene().runtime.uuid() }), jobVersion: 1 };
    assert.deepEqual(await jobs.run({ ...again, retryOf: asked.executionId }), { kind: "IS_WORKFLOW" });
    assert.deepEqual(await jobs.run({ ...again, retryOf: nodeId(asked.executionId, 0) }), { kind: "NOT_FOUND" });
    assert.deepEqual(await readCommands(ALL_SHARDS, new Set(), 10), []);
    const deletion = { tenant, jobId, cancelRunning: true, commandId: () => scene().runtime.uuid(), at };
    const outcome = await jobs.delete(deletion);
    const named = outcome.kind === "DELETED" ? outcome.commands.map(({ kind }) => kind) : [];
    assert.deepEqual(named.sort(), ["CANCEL", "DELETE"]);
  });

  it("keeps the nodes of an open run, and forgets all of a run that ended long ago", async () => {
    const [open, over, dead] = [await started(scene()), await started(scene()), await started(scene())];
    for (const asked of [open, over, dead]) {
      const ends = [0, 1].map((node) => nodeEnds(scene(), asked, node, { state: node === 0 ? "DEAD" : "SUCCEEDED" }));
      await scene().applied(asked.shard, { changes: ends });
    }
    await scene().applied(over.shard, { changes: [runEnds(scene(), over)] });
    await scene().applied(dead.shard, { changes: [runEnds(scene(), dead, { state: "DEAD" })] });
    const { queries } = scene().store;
    const kept = async ({ executionId, jobId }: typeof open) => [
      (await queries.getRun(TENANT, executionId)) !== null,
      (await queries.getJob(TENANT, jobId)) !== null,
      (await queries.listNodes(TENANT, executionId, {}, page)).items.length,
      (await scene().store.payloads([nodeId(executionId, 1)])).size,
    ];
    await upkeep(29);
    const whole = [true, true, 2, 1];
    for (const asked of [open, over, dead]) assert.deepEqual(await kept(asked), whole);
    // The row of a run goes after those of its nodes.
    for (let round = 0; round < 2; round++) await upkeep(31);
    assert.deepEqual(await kept(over), [false, false, 0, 0]);
    for (const asked of [open, dead]) assert.deepEqual(await kept(asked), whole);
    for (let round = 0; round < 2; round++) await upkeep(91);
    assert.deepEqual(await kept(dead), [false, false, 0, 0]);
    assert.deepEqual(await kept(open), whole);
  });
}
