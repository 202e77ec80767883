import assert from "node:assert/strict";
import { it } from "node:test";
import type { RowChange } from "../store.ts";
import {
  birth,
  execution,
  loaded,
  newNode,
  nodeEnds,
  nodeId,
  runEnds,
  runRow,
  started,
  workflow,
} from "./runs-scene.conformance.ts";
import { ALL_SHARDS, type Scene, TENANT } from "./store-scene.conformance.ts";

/** A definition in which no field has its default value. */
const FULL = {
  ...{ name: "etl", pool: "gpu", requires: ["cuda"], priority: 8, concurrencyKey: "key", concurrencyLimit: 18 },
  ...{ uniqueKey: "unique", labels: { team: "films" }, tenant: "acme", rank: -7.5 },
} as const;

/** Submits of workflows, and reads of their runs for owners. */
export function runsConformance(scene: () => Scene): void {
  const page = { after: null, limit: 10 };

  it("keeps every field of a submitted workflow, and shows it to the owner", async () => {
    const input = Buffer.from('"input"');
    const output = Buffer.from("output");
    const asked = await started(scene(), { ...FULL, payload: input, nodes: 17, output });
    assert.deepEqual(await scene().store.load([asked.executionId]), [runRow(asked)]);
    const run = await loaded(scene(), asked);
    assert.ok(run.stored !== null);
    const { stored } = run;
    const all = {
      ...{ graph: Buffer.from(stored.graph), definitions: Buffer.from(stored.definitions) },
      output: Buffer.from(stored.output ?? []),
    };
    assert.deepEqual(
      { ...run, stored: all },
      {
        ...{ row: runRow(asked), workflow: asked.jobId, mode: "RUNNING", paused: false, outcome: null, revision: 1 },
        stored: { graph: asked.graph, definitions: asked.definitions, output },
        ...{ kept: [], mapCounts: [], parts: [], items: [] },
        executions: [execution(asked, 0), execution(asked, 1)],
        signalled: [],
      },
    );
    const job = await scene().store.queries.getJob("acme", asked.jobId);
    assert.deepEqual([job?.definition, job?.state, job?.latestExecutions.length], [asked.definition, "ACTIVE", 1]);
    assert.deepEqual(Buffer.from(job?.payload ?? []), input);
  });

  it("keeps every field of a node, from its creation to its end", async () => {
    const asked = await started(scene(), { tenant: "acme", payloads: [{ node: 3, payload: Buffer.from("[3]") }] });
    const retry = { maxAttempts: 11, backoff: "FIXED", initialDelayMs: 12, maxDelayMs: 13, jitter: false } as const;
    const made = birth(scene(), asked, 3, [], {
      ...{ item: 9, pool: "gpu", handler: "render", requires: ["cuda"], priority: 8, rank: -7.5, scheduledAt: 14 },
      policy: { ...asked.definition.policy, retry },
    });
    await scene().applied(asked.shard, { births: [{ ...made, createdAt: 15 }] });
    const { row } = made;
    assert.deepEqual(await scene().store.load([row.id]), [row]);
    assert.deepEqual(await scene().store.readReady(ALL_SHARDS, made.laneHash, null, 10), [row]);
    const change: RowChange = { ...nodeEnds(scene(), asked, 3), id: row.id, branch: "left", result: Buffer.from("1") };
    await scene().applied(asked.shard, { changes: [change] });
    const view = await scene().store.queries.getExecution("acme", row.id);
    assert.deepEqual(view?.ofRun, { run: asked.executionId, node: 3, item: 9, branch: "left" });
    assert.deepEqual(
      [view.jobId, view.trigger, view.createdAt, view.scheduledAt, view.state, view.policy.retry.maxAttempts],
      [asked.executionId, "NODE", 15, 14, "SUCCEEDED", 11],
    );
    assert.deepEqual([Buffer.from(view.payload ?? []), view.requires], [Buffer.from("[3]"), ["cuda"]]);
  });

  it("shows the node in every reading of the owner", async () => {
    const { store, runtime } = scene();
    const asked = workflow(scene(), { shard: 5 });
    const later = runtime.now() + 60_000;
    const roots = [newNode(scene(), asked, 0), newNode(scene(), asked, 1, { queue: "WAITING", dueAt: later, rank: 3 })];
    await started(scene(), { ...asked, ...asked.definition, roots });
    const [first, second] = roots.map(({ row }) => row);
    assert.deepEqual(await store.readWaiting(ALL_SHARDS, later, 10), [second]);
    await store.maintain(runtime.now(), { days: 30, deadDays: 90 });
    const flow = { tenant: TENANT, pool: asked.definition.pool };
    assert.deepEqual(await store.readFlows(ALL_SHARDS, later, [{ flow, after: null }], 10), [[second]]);
    const held = {
      state: "RUNNING",
      queue: "HELD",
      workerId: "w1",
      gateway: "g1",
      finishedAt: null,
      ended: [],
    } as const;
    const entry = { id: second?.id ?? "", attempt: 1, workerId: "w1", gateway: "g1", assignedAt: 8 };
    await scene().applied(5, { changes: [nodeEnds(scene(), asked, 0, held)], assigned: [entry] });
    const { inFlight } = await store.recover([5]);
    assert.deepEqual(
      inFlight.map(({ row }) => [row.id, row.node]).sort(),
      [first, second].map((row) => [row?.id, row?.node]).sort(),
    );
  });

  it("finds open runs of the shards, by their deadlines", async () => {
    const [a, b, c, other] = [
      await started(scene(), { shard: 1, deadline: 30 }),
      await started(scene(), { shard: 2, deadline: 10 }),
      await started(scene(), { shard: 1, deadline: 20 }),
      await started(scene(), { shard: 3, deadline: 15 }),
    ];
    const { openRuns } = scene().store.runs;
    const placed = (...asked: (typeof a)[]) => asked.map(({ deadline, executionId: id }) => ({ dueAt: deadline, id }));
    const check = async () => {
      assert.deepEqual(await openRuns([1, 2], null, 10), placed(b, c, a));
      assert.deepEqual(await openRuns([1, 2], null, 2), placed(b, c));
      assert.deepEqual(await openRuns([1, 2], { dueAt: 20, id: c.executionId }, 2), placed(a));
    };
    await check();
    await scene().store.maintain(scene().runtime.now(), { days: 30, deadDays: 90 });
    await check();
    await scene().applied(1, { changes: [runEnds(scene(), c)] });
    assert.deepEqual(await openRuns(ALL_SHARDS, null, 10), placed(b, other, a));
  });

  it("loads open runs, each with its own nodes, and leaves out other ids", async () => {
    const [a, b] = [await started(scene()), await started(scene(), { roots: [] })];
    const job = await scene().submitted();
    const ended = await started(scene());
    await scene().applied(ended.shard, { changes: [runEnds(scene(), ended, { state: "DEAD" })] });
    const ids = [a, b, job, ended].map(({ executionId }) => executionId);
    const found = await scene().store.runs.load([...ids, scene().runtime.uuid()]);
    const nodes = new Map(found.map(({ row, executions }) => [row.id, executions]));
    assert.deepEqual(
      nodes,
      new Map([
        [a.executionId, [execution(a, 0), execution(a, 1)]],
        [b.executionId, []],
      ]),
    );
  });

  it("leaves out the stored workflows that the owner has", async () => {
    const [a, b] = [await started(scene()), await started(scene())];
    const asked = new Set<string>();
    const isKnown = (jobId: string, version: number) => {
      asked.add(`${jobId} ${version}`);
      return jobId === a.jobId;
    };
    const found = await scene().store.runs.load([a.executionId, b.executionId], isKnown);
    const stored = new Map(
      found.map((run) => [run.row.id, run.stored === null ? null : Buffer.from(run.stored.graph)]),
    );
    assert.deepEqual(
      stored,
      new Map([
        [a.executionId, null],
        [b.executionId, b.graph],
      ]),
    );
    assert.deepEqual([...asked].sort(), [a, b].map(({ jobId }) => `${jobId} 1`).sort());
    assert.deepEqual(
      found.map(({ executions }) => executions.length),
      [2, 2],
    );
  });

  it("gives the payloads of nodes beside those of jobs and runs", async () => {
    const payloads = [0, 1].map((node) => ({ node, payload: Buffer.from(`"${node}"`) }));
    const asked = await started(scene(), { payloads, payload: Buffer.from('"input"') });
    const bare = await started(scene(), { payloads: [] });
    const job = await scene().submitted({ payload: Buffer.from('"job"') });
    const ids = [0, 1].map((node) => nodeId(asked.executionId, node));
    const found = await scene().store.payloads([
      ...ids,
      ...[asked.executionId, job.executionId, nodeId(bare.executionId, 0)],
    ]);
    assert.deepEqual(
      new Map([...found].map(([id, payload]) => [id, Buffer.from(payload).toString()])),
      new Map([
        ...ids.map((id, i): [string, string] => [id, `"${i}"`]),
        [asked.executionId, '"input"'],
        [job.executionId, '"job"'],
      ]),
    );
  });

  it("gives the results of nodes that succeeded, also after the end of their run", async () => {
    const [asked, other] = [await started(scene()), await started(scene())];
    const ends = (node: number, change: Partial<RowChange>) => nodeEnds(scene(), asked, node, change);
    const born = [2, 3, 4].map((node) => birth(scene(), asked, node));
    await scene().applied(asked.shard, { births: born });
    const changes = [
      ends(0, { result: Buffer.from('{"a": 1}') }),
      ends(1, { result: null }),
      ends(2, { state: "DEAD", result: null, error: { name: "E", message: "no" } }),
      ends(3, { state: "CANCELLED", result: null }),
    ];
    await scene().applied(asked.shard, { changes });
    const ids = [0, 1, 2, 3, 4, 5].map((node) => nodeId(asked.executionId, node));
    const results = async () => {
      const found = await scene().store.runs.results([...ids, nodeId(other.executionId, 0)]);
      return [...found].map(([id, result]) => [ids.indexOf(id), result && Buffer.from(result).toString()]).sort();
    };
    const expected = [
      [0, '{"a": 1}'],
      [1, null],
    ];
    assert.deepEqual(await results(), expected);
    await scene().applied(asked.shard, { changes: [runEnds(scene(), asked, { result: Buffer.from("[7]") })] });
    assert.deepEqual(await results(), expected);
    const run = await scene().store.runs.results([asked.executionId]);
    assert.deepEqual(
      [...run.values()].map((result) => Buffer.from(result ?? []).toString()),
      ["[7]"],
    );
  });

  it("submits workflows with a great many payloads and nodes", async () => {
    const asked = workflow(scene(), { nodes: 1_500 });
    const payload = Buffer.alloc(4_096, "7");
    const payloads = Array.from({ length: 1_500 }, (_, node) => ({ node, payload }));
    const roots = Array.from({ length: 1_000 }, (_, node) => newNode(scene(), { ...asked, payloads }, node));
    await started(scene(), { ...asked, ...asked.definition, payloads, roots });
    assert.equal((await loaded(scene(), asked)).executions.length, 1_000);
    const found = await scene().store.payloads(roots.map(({ row }) => row.id));
    assert.deepEqual([...found.values()].filter(({ length }) => length === 4_096).length, 1_000);
  });

  it("submits a workflow completely or not at all", async () => {
    const asked = workflow(scene(), { uniqueKey: "u1" });
    const [first] = asked.roots;
    const bad = { ...asked, roots: [...asked.roots, newNode(scene(), asked, 2, { handler: "h\u0000" })] };
    const [outcome] = await scene().store.submit([{ idempotency: null, jobs: [scene().job(), bad] }]);
    assert.equal(outcome?.kind, "REFUSED");
    assert.deepEqual(await scene().store.load([asked.executionId, first?.row.id ?? ""]), []);
    assert.equal(await scene().store.queries.getJob(TENANT, asked.jobId), null);
    await started(scene(), { ...asked, ...asked.definition });
  });

  it("answers a repeated submit of a workflow as the first one", async () => {
    const [first, second] = [workflow(scene()), workflow(scene())];
    const idempotency = { tenant: TENANT, key: "k1", requestHash: "h" };
    const { jobId, executionId } = first;
    const jobs = [{ jobId, executionId, deduplicated: false }];
    const { store } = scene();
    const submit = (asked: typeof first) => store.submit([{ idempotency, jobs: [asked] }]);
    assert.deepEqual(await submit(first), [{ kind: "ACCEPTED", replayed: false, jobs }]);
    assert.deepEqual(await submit(second), [{ kind: "ACCEPTED", replayed: true, jobs }]);
    assert.deepEqual(await store.load([second.executionId]), []);
    assert.deepEqual(await store.queries.answered(idempotency), { kind: "ACCEPTED", replayed: true, jobs });
  });

  it("answers with the run that holds the unique key", async () => {
    const first = await started(scene(), { uniqueKey: "u1" });
    const job = scene().job({ uniqueKey: "u1" });
    const second = workflow(scene(), { uniqueKey: "u1" });
    const { jobId, executionId } = first;
    const jobs = [{ jobId, executionId, deduplicated: true }];
    for (const asked of [job, second]) {
      const outcome = await scene().store.submit([{ idempotency: null, jobs: [asked] }]);
      assert.deepEqual(outcome, [{ kind: "ACCEPTED", replayed: false, jobs }]);
    }
    const roots = second.roots.map(({ row }) => row.id);
    assert.deepEqual(await scene().store.load([second.executionId, ...roots]), []);
    assert.deepEqual((await scene().store.queries.listRuns(TENANT, {}, page)).items.length, 1);
  });
}
