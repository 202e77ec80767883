import assert from "node:assert/strict";
import { it } from "node:test";
import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import type { Candidate } from "../../domain/execution.ts";
import { DEFAULT_TENANT, type ExecutionId, type JobId } from "../../domain/ids.ts";
import { laneHash } from "../../domain/lane.ts";
import { subWorkflowId } from "../../domain/workflow/node-id.ts";
import type { RowChange, ShardCommit, ShardOutcome } from "../store.ts";
import type { NestedGraph, NewWorkflow, NodeBirth } from "../store-runs.ts";
import {
  birth,
  born,
  loaded,
  newNode,
  nodeEnds,
  nodeId,
  type OpenWorkflow,
  runEnds,
  started,
} from "./runs-scene.conformance.ts";
import { ALL_SHARDS, firstChange, type Scene } from "./store-scene.conformance.ts";

const FIRST_PAGE = { after: null, limit: 10 };
const [SHARD, KEYS] = [3, 9];

/** Sub-workflows: executions of nodes that are runs. */
export function subWorkflowsConformance(scene: () => Scene): void {
  const commit = async (shard: number, parts: Partial<ShardCommit>): Promise<ShardOutcome> => {
    const [outcome] = await scene().store.commit([scene().tick(shard, parts)]);
    assert.ok(outcome);
    return outcome;
  };
  const graph = (id: JobId, name: string): NestedGraph => ({
    ...{ id, nodes: 2, graph: Buffer.from(`graph ${name}`), definitions: Buffer.from(`definitions ${name}`) },
    ...{ output: Buffer.from(`"${name}"`), payloads: [{ node: 1, payload: Buffer.from(`"payload ${name}"`) }] },
  });
  /** A run whose node 2 has the sub-workflow "outer", whose node 1 has the sub-workflow "inner". */
  const withNested = async (sample: { shard?: number } = {}) => {
    const jobId = scene().job({}).jobId;
    const outer = subWorkflowId(jobId, 2);
    const inner = subWorkflowId(outer, 1);
    const payloads = [{ node: 2, payload: Buffer.from('"input of outer"') }];
    const nested = [graph(outer, "outer"), graph(inner, "inner")];
    const asked = await started(scene(), { shard: SHARD, ...sample, jobId, payloads, nested });
    return { asked, outer, inner };
  };
  const childBirth = (
    asked: NewWorkflow,
    node: number,
    workflow: JobId,
    after: number[] = [],
    more: Partial<Candidate> = {},
  ) => {
    const made = birth(scene(), asked, node, after, { handler: SUB_WORKFLOW_HANDLER, ...more });
    return { ...made, laneHash: laneHash(made.row), workflow };
  };
  /** The run of a node's sub-workflow, as far as helpers for runs need it. */
  const child = (asked: OpenWorkflow, node: number, item?: number): OpenWorkflow => {
    const executionId = nodeId(asked.executionId, node, item);
    return {
      ...asked,
      executionId,
      deadline: scene().runtime.now() + 60_000,
      payloads: [{ node: 1, payload: Buffer.from('"payload outer"') }],
      rank: scene().runtime.now(),
    };
  };
  const opens = ({ executionId: id, rank, deadline }: OpenWorkflow, wasRank = rank): RowChange =>
    firstChange(
      { id, rank: wasRank, dueAt: deadline },
      { state: "RUNNING", queue: "OPEN", startedAt: scene().runtime.now() },
    );
  /** Creates and opens the run of node 2, with its first node. */
  const withChild = async () => {
    const made = await withNested();
    const { asked, outer } = made;
    await scene().applied(SHARD, { births: [childBirth(asked, 2, outer)] });
    const run = child(asked, 2);
    const first = { ...newNode(scene(), run, 0), after: [run.executionId] };
    await scene().applied(SHARD, { changes: [opens(run)], births: [first] });
    return { ...made, run };
  };

  it("creates the run with the execution of its node, and finds its workflow", async () => {
    const { asked, outer } = await withNested();
    const made = childBirth(asked, 2, outer, [0]);
    await scene().applied(SHARD, { changes: [nodeEnds(scene(), asked, 0)], births: [made] });
    assert.deepEqual(await scene().store.readReady([SHARD], made.laneHash, null, 10), [made.row]);
    const run = await loaded(scene(), { executionId: made.row.id });
    assert.deepEqual([run.workflow, run.revision, run.mode, run.executions], [outer, 1, "RUNNING", []]);
    assert.deepEqual(run.row, made.row);
    const text = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString();
    assert.deepEqual([run.stored?.graph, run.stored?.definitions, run.stored?.output].map(text), [
      "graph outer",
      "definitions outer",
      '"outer"',
    ]);
    const known: unknown[] = [];
    const [again] = await scene().store.runs.load([made.row.id], (id, version) => known.push(id, version) > 0);
    assert.deepEqual([again?.stored, known.slice(0, 2)], [null, [outer, 1]], "it is known by its own id");
    assert.equal((await loaded(scene(), asked)).workflow, asked.jobId);
  });

  it("creates no run of a node that it does not create", async () => {
    const { asked, outer } = await withNested();
    const missed = nodeEnds(scene(), asked, 0, { wasAttempt: 3, attempt: 4 });
    const outcome = await commit(SHARD, { changes: [missed], births: [childBirth(asked, 2, outer, [0])] });
    const id = nodeId(asked.executionId, 2);
    assert.deepEqual(outcome.notBorn, [id]);
    assert.deepEqual(await scene().store.runs.load([id]), []);
    assert.equal(await scene().store.queries.getRun(DEFAULT_TENANT, id), null);
    await scene().applied(SHARD, { births: [childBirth(asked, 2, outer)] });
    const changed = { run: id, wasRevision: 1, revision: 2, mode: "RUNNING", paused: false } as const;
    await scene().applied(SHARD, { runs: [changed] });
    const twice = await commit(SHARD, { births: [childBirth(asked, 2, outer)] });
    assert.deepEqual([twice.notBorn, (await loaded(scene(), { executionId: id })).revision], [[id], 2]);
  });

  it("creates the run in the shard of the node's key", async () => {
    const { asked, outer } = await withNested();
    const key = { concurrencyKey: "warehouse", shard: KEYS };
    await scene().applied(SHARD, { births: [childBirth(asked, 2, outer, [], key)] });
    const run = { ...child(asked, 2), shard: KEYS };
    await scene().applied(KEYS, { changes: [opens(run)] });
    assert.deepEqual(
      (await scene().store.runs.openRuns([KEYS], null, 10)).map(({ id }) => id),
      [run.executionId],
    );
    const told = { id: nodeId(run.executionId, 9), kind: "NODE_ENDED", executionId: run.executionId } as const;
    const ofNode = { run: asked.executionId, node: 2 };
    const command = { ...told, ofNode, state: "SUCCEEDED", branch: null } as const;
    const outcome = await commit(KEYS, {
      changes: [runEnds(scene(), run)],
      commands: [{ run: asked.executionId, command }],
    });
    assert.deepEqual(outcome.added, [{ ...command, shard: SHARD }]);
  });

  it("creates nodes of the run, with the payloads of its workflow, and changes its row", async () => {
    const { run, inner } = await withChild();
    const births: NodeBirth[] = [childBirth(run, 1, inner)];
    const paused = { run: run.executionId, wasRevision: 1, revision: 2, mode: "RUNNING", paused: true } as const;
    await scene().applied(SHARD, { changes: [nodeEnds(scene(), run, 0)], births, runs: [paused] });
    assert.deepEqual(await born(scene(), run), [0, 1]);
    const ids = [run.executionId, nodeId(run.executionId, 1)];
    const payloads = await scene().store.payloads(ids);
    const texts = ids.map((id) => Buffer.from(payloads.get(id) ?? []).toString());
    assert.deepEqual(texts, ['"input of outer"', '"payload outer"']);
    const { revision, paused: isPaused } = await loaded(scene(), run);
    assert.deepEqual([revision, isPaused], [2, true]);
    assert.equal((await loaded(scene(), { executionId: nodeId(run.executionId, 1) })).workflow, inner);
  });

  it("tells of which nodes runs are executions", async () => {
    const { asked, run, outer } = await withChild();
    const item = childBirth(asked, 3, outer, [], { item: 4 });
    await scene().applied(SHARD, { births: [item] });
    const ids = [asked.executionId, run.executionId, item.row.id, nodeId(asked.executionId, 0)];
    const origins = await scene().store.runs.origins(ids);
    const expected = new Map<ExecutionId, unknown>([
      [run.executionId, { run: asked.executionId, node: 2, item: null }],
      [item.row.id, { run: asked.executionId, node: 3, item: 4 }],
    ]);
    assert.deepEqual(origins, expected);
  });

  it("shows runs of sub-workflows by their parent, and hides them from other lists", async () => {
    const { asked, run } = await withChild();
    const { queries } = scene().store;
    const list = async (filter: object) =>
      (await queries.listRuns(DEFAULT_TENANT, filter, FIRST_PAGE)).items.map(({ executionId }) => executionId);
    assert.deepEqual(await list({}), [asked.executionId]);
    assert.deepEqual(await list({ parent: asked.executionId }), [run.executionId]);
    assert.deepEqual(await list({ parent: asked.executionId, state: "DEAD" }), []);
    assert.deepEqual(await list({ parent: run.executionId }), []);
    const view = await queries.getRun(DEFAULT_TENANT, run.executionId);
    assert.deepEqual(
      [view?.parent, view?.nodes, view?.name, view?.counts],
      [{ run: asked.executionId, node: 2, item: null }, 2, null, { PENDING: 1 }],
    );
    assert.equal(Buffer.from(view?.payload ?? []).toString(), '"input of outer"');
    assert.equal((await queries.getRun(DEFAULT_TENANT, asked.executionId))?.parent, null);
    const execution = await queries.getExecution(DEFAULT_TENANT, run.executionId);
    assert.deepEqual([execution?.isRun, execution?.ofRun?.run], [true, asked.executionId]);
  });

  it("recovers open runs of sub-workflows, and keeps the end of one as the result of its node", async () => {
    const { asked, run } = await withChild();
    const recovered = await scene().store.recover(ALL_SHARDS);
    assert.deepEqual([...(recovered.runs ?? [])].sort(), [asked.executionId, run.executionId].sort());
    const result = Buffer.from('"done"');
    const changes = [nodeEnds(scene(), run, 0), runEnds(scene(), run, { result })];
    await scene().store.commit([scene().tick(SHARD, { changes })]);
    const results = await scene().store.runs.results([run.executionId]);
    assert.equal(Buffer.from(results.get(run.executionId) ?? []).toString(), '"done"');
    const ended = (await loaded(scene(), asked)).executions.find(({ node }) => node === 2);
    assert.equal(ended?.state, "SUCCEEDED");
    assert.deepEqual(await scene().store.runs.load([run.executionId]), []);
  });
}
