import assert from "node:assert/strict";
import { it } from "node:test";
import type { KeptNodes } from "../../domain/workflow/kept-nodes.ts";
import type { NewRetry } from "../store-runs.ts";
import {
  execution,
  loaded,
  newNode,
  nodeEnds,
  nodeId,
  type OpenWorkflow,
  runEnds,
  started,
} from "./runs-scene.conformance.ts";
import { type Scene, TENANT } from "./store-scene.conformance.ts";

const DAY_MS = 86_400_000;
const RETENTION = { days: 30, deadDays: 90 };
const page = { after: null, limit: 10 };

/** A retry of a run, which keeps the node 0 of it with a branch and begins with the node 1. */
function retryOf(scene: Scene, asked: OpenWorkflow, more: Partial<NewRetry> = {}): NewRetry & { deadline: number } {
  const { nodes: _, graph: __, definitions: ___, payloads, ...job } = asked;
  const executionId = scene.runtime.uuid();
  const createdAt = scene.runtime.now() + 5;
  const own = { ...job, executionId, createdAt, deadline: createdAt + 77_000 };
  const kept: KeptNodes[] = [{ run: asked.executionId, nodes: [[0, "left"]] }];
  const roots = [newNode(scene, { ...own, payloads }, 1)];
  return {
    ...own,
    roots,
    jobVersion: 1,
    retryOf: asked.executionId,
    kept,
    mapCounts: [],
    parts: [],
    idempotency: null,
    ...more,
    deadline: own.deadline,
  };
}

/** A DEAD run whose node 0 has SUCCEEDED and whose node 1 is DEAD. */
async function failed(scene: Scene, sample: Parameters<typeof started>[1] = {}): Promise<OpenWorkflow> {
  const asked = await started(scene, sample);
  const ends = [nodeEnds(scene, asked, 0, { branch: "left" }), nodeEnds(scene, asked, 1, { state: "DEAD" })];
  await scene.applied(asked.shard, { changes: ends });
  await scene.applied(asked.shard, { changes: [runEnds(scene, asked, { state: "DEAD" })] });
  return asked;
}

/** Retries of runs. */
export function retriesConformance(scene: () => Scene): void {
  const retry = (asked: NewRetry) => scene().store.runs.retry(asked);
  const letters = async () =>
    (await scene().store.deadLetters.list(TENANT, {}, page)).items.map(({ executionId }) => executionId);

  it("adds a run that goes on with a compensation, and keeps compensations as it keeps nodes", async () => {
    const first = await failed(scene());
    const outcome = { state: "DEAD", reason: "NODE_DEAD", error: null } as const;
    const asked = retryOf(scene(), first, { outcome });
    assert.equal((await retry(asked)).kind, "ACCEPTED");
    const run = await loaded(scene(), asked as unknown as OpenWorkflow);
    assert.deepEqual([run.mode, run.outcome, run.kept], ["CANCELLING", outcome, asked.kept]);
    const other = retryOf(scene(), await failed(scene()));
    assert.equal((await retry(other)).kind, "ACCEPTED");
    const plain = await loaded(scene(), other as unknown as OpenWorkflow);
    assert.deepEqual([plain.mode, plain.outcome], ["RUNNING", null]);
  });

  it("adds a run to the job, with every field, and takes the former one off the dead letters", async () => {
    const sample = { name: "etl", labels: { team: "x" }, priority: 8, rank: -7.5, payload: Buffer.from('"input"') };
    const first = await failed(scene(), { ...sample, pool: "gpu", requires: ["cuda"], uniqueKey: "u1" });
    const base = await failed(scene());
    assert.deepEqual((await letters()).sort(), [first.executionId, base.executionId].sort());
    const kept: KeptNodes[] = [
      { run: base.executionId, nodes: [[0, null]] },
      { run: first.executionId, nodes: [[0, "left"]] },
    ];
    const asked = retryOf(scene(), first, { kept });
    const { executionId, jobId, shard, deadline, createdAt } = asked;
    assert.deepEqual(await retry(asked), { kind: "ACCEPTED", executionId, replayed: false });
    assert.deepEqual(await letters(), [base.executionId]);
    const run = await loaded(scene(), asked);
    assert.deepEqual([run.mode, run.revision, run.kept], ["RUNNING", 1, kept]);
    assert.deepEqual(run.executions, [execution({ ...first, executionId }, 1)]);
    const keepers = await scene().store.runs.kept([executionId, first.executionId, base.executionId]);
    assert.deepEqual(keepers, new Map([[executionId, kept]]));
    const { row } = run;
    assert.deepEqual(
      [row.jobId, row.shard, row.dueAt, row.startedAt, row.queue],
      [jobId, shard, deadline, createdAt, "OPEN"],
    );
    assert.deepEqual(
      [row.pool, row.requires, row.priority, row.rank, row.hasUniqueKey],
      ["gpu", ["cuda"], 8, -7.5, true],
    );
    const payloads = await scene().store.payloads([nodeId(executionId, 1), executionId]);
    assert.deepEqual([...payloads.values()].map((bytes) => Buffer.from(bytes).toString()).sort(), ['"input"', '"one"']);
    const { queries } = scene().store;
    const view = await queries.getRun(TENANT, executionId);
    assert.deepEqual([view?.retryOf, view?.trigger, view?.kept, view?.name], [first.executionId, "RETRY", kept, "etl"]);
    assert.deepEqual(
      [view?.retriedBy, (await queries.getRun(TENANT, first.executionId))?.retriedBy],
      [[], [executionId]],
    );
    assert.equal((await queries.getJob(TENANT, jobId))?.state, "ACTIVE");
    const listed = await queries.listExecutions(TENANT, { jobId }, page);
    assert.deepEqual(listed.items.map((item) => item.executionId).sort(), [first.executionId, executionId].sort());
    assert.deepEqual((await queries.listRuns(TENANT, { name: "etl" }, page)).items.length, 2);
    assert.deepEqual((await queries.getRun(TENANT, base.executionId))?.retriedBy, []);
  });

  it("adds a run that waits for its concurrency key, with the nodes that it keeps", async () => {
    const first = await failed(scene(), { concurrencyKey: "etl" });
    const { deadline: _, ...rest } = retryOf(scene(), first);
    const asked: NewRetry = { ...rest, queue: "READY", deadline: null, roots: [] };
    const { executionId } = asked;
    assert.deepEqual(await retry(asked), { kind: "ACCEPTED", executionId, replayed: false });
    const { row, kept, executions } = await loaded(scene(), asked);
    assert.deepEqual([row.state, row.queue, row.startedAt], ["PENDING", "READY", null]);
    assert.deepEqual([row.dueAt, row.concurrencyKey], [first.definition.scheduledAt, "etl"]);
    assert.deepEqual([kept, executions], [asked.kept, []]);
  });

  it("keeps nothing of a run that is no retry, and of one all of whose nodes run again", async () => {
    const asked = await started(scene());
    const whole = retryOf(scene(), await failed(scene()), { kept: [] });
    await retry(whole);
    assert.deepEqual(await scene().store.runs.kept([asked.executionId, whole.executionId]), new Map());
    assert.deepEqual((await loaded(scene(), asked)).kept, []);
    const view = await scene().store.queries.getRun(TENANT, asked.executionId);
    assert.deepEqual([view?.kept, view?.retriedBy, view?.retryOf], [[], [], null]);
  });

  it("lets one of two retries at the same time happen, and the next one when that is final", async () => {
    const first = await failed(scene());
    const [a, b] = [retryOf(scene(), first), retryOf(scene(), first)];
    const outcomes = await Promise.all([retry(a), retry(b)]);
    const winner = outcomes[0]?.kind === "ACCEPTED" ? a : b;
    const refused = { kind: "NOT_FINAL", executionId: winner.executionId };
    assert.deepEqual(
      outcomes.find(({ kind }) => kind !== "ACCEPTED"),
      refused,
    );
    assert.equal((await scene().store.queries.listRuns(TENANT, {}, page)).items.length, 2);
    const end = runEnds(scene(), { ...first, ...winner }, { state: "CANCELLED" });
    await scene().applied(first.shard, { changes: [end] });
    const c = retryOf(scene(), first);
    assert.equal((await retry(c)).kind, "ACCEPTED");
    const view = await scene().store.queries.getRun(TENANT, first.executionId);
    assert.deepEqual(view?.retriedBy, [c.executionId, winner.executionId].sort().reverse());
  });

  it("refuses what is unknown, open or deleted, or has its unique key held, and writes nothing then", async () => {
    const first = await failed(scene(), { uniqueKey: "u1" });
    const open = await started(scene());
    assert.deepEqual(await retry(retryOf(scene(), open)), { kind: "NOT_FINAL", executionId: open.executionId });
    const gone = scene().runtime.uuid();
    assert.deepEqual(await retry(retryOf(scene(), first, { retryOf: gone })), { kind: "NOT_FOUND" });
    assert.deepEqual(await retry(retryOf(scene(), first, { tenant: "other" })), { kind: "NOT_FOUND" });
    const holder = await started(scene(), { uniqueKey: "u1" });
    assert.deepEqual(await retry(retryOf(scene(), first)), { kind: "KEY_HELD", executionId: holder.executionId });
    const { jobId } = first;
    const deletion = { tenant: TENANT, jobId, cancelRunning: true, commandId: () => scene().runtime.uuid(), at: 1 };
    await scene().store.jobs.delete(deletion);
    assert.deepEqual(await retry(retryOf(scene(), first)), { kind: "DELETED" });
    assert.equal((await scene().store.queries.listRuns(TENANT, {}, page)).items.length, 3);
    assert.deepEqual(await letters(), [first.executionId]);
  });

  it("answers a repeat by idempotency key, and lets a refused retry use its key again", async () => {
    const first = await failed(scene());
    const idempotency = { tenant: TENANT, key: "k1", requestHash: "h" };
    const gone: KeptNodes[] = [{ run: first.executionId, nodes: [[3, null]] }];
    const refused = { kind: "RESULTS_GONE", run: first.executionId };
    assert.deepEqual(await retry(retryOf(scene(), first, { idempotency, kept: gone })), refused);
    assert.equal(await scene().store.queries.answered(idempotency), null);
    const [a, b] = [retryOf(scene(), first, { idempotency }), retryOf(scene(), first, { idempotency })];
    const { executionId } = a;
    assert.deepEqual(await retry(a), { kind: "ACCEPTED", executionId, replayed: false });
    assert.deepEqual(await retry(b), { kind: "ACCEPTED", executionId, replayed: true });
    const other = { ...idempotency, requestHash: "other" };
    assert.deepEqual(await retry(retryOf(scene(), first, { idempotency: other })), { kind: "KEY_REUSED" });
    const answered = await scene().store.queries.answered(idempotency);
    const jobs = [{ jobId: first.jobId, executionId, deduplicated: false }];
    assert.deepEqual(answered, { kind: "ACCEPTED", replayed: true, jobs });
  });

  it("keeps runs from which an open run keeps nodes, and refuses to keep nodes of runs that are gone", async () => {
    const first = await failed(scene(), { createdAt: scene().runtime.now() - 40 * DAY_MS });
    const other = await failed(scene(), { createdAt: scene().runtime.now() - 40 * DAY_MS });
    const asked = retryOf(scene(), first);
    assert.equal((await retry(asked)).kind, "ACCEPTED");
    const { queries, maintain } = scene().store;
    const upkeep = async () => {
      // The row of a run goes after those of its nodes.
      for (let round = 0; round < 2; round++) await maintain(scene().runtime.now() + 91 * DAY_MS, RETENTION);
    };
    const nodesOf = async (run: string) => (await queries.listNodes(TENANT, run, {}, page)).items.length;
    await upkeep();
    assert.deepEqual([await nodesOf(first.executionId), await nodesOf(other.executionId)], [2, 0]);
    assert.notEqual(await queries.getRun(TENANT, first.executionId), null);
    const end = runEnds(
      scene(),
      { ...first, ...asked },
      { state: "DEAD", finishedAt: scene().runtime.now() + 90 * DAY_MS },
    );
    await scene().applied(first.shard, { changes: [end] });
    await upkeep();
    assert.equal(await nodesOf(first.executionId), 0);
    const again = retryOf(scene(), { ...first, executionId: asked.executionId }, { kept: asked.kept });
    assert.deepEqual(await retry(again), { kind: "RESULTS_GONE", run: first.executionId });
    assert.deepEqual((await queries.getRun(TENANT, asked.executionId))?.kept, asked.kept);
  });
}
