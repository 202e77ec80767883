import assert from "node:assert/strict";
import { type Candidate, RUN_NODE } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { laneHash } from "../../domain/lane.ts";
import type { RowChange } from "../store.ts";
import type { LoadedRun, NewNode, NewWorkflow, NodeBirth, NodeExecution } from "../store-runs.ts";
import { firstChange, type JobSample, type Scene } from "./store-scene.conformance.ts";

/** Fields of a workflow that a test sets; the rest has usual values. */
export type WorkflowSample = Omit<JobSample, "queue"> & Partial<Omit<NewWorkflow, "definition">>;

/** A workflow whose run is open from the start. */
export type OpenWorkflow = NewWorkflow & { deadline: number };

/** Id of the execution of a node: it has the time of the run's id, as the ids of a real run. The run may be that of a sub-workflow. */
export function nodeId(run: ExecutionId, node: number, item = 0): ExecutionId {
  const level = run[24] === "4" ? 5 : 4;
  return `${run.slice(0, 24)}${level}${item.toString(16).padStart(5, "0")}${node.toString(16).padStart(6, "0")}`;
}

/** A workflow of four nodes, of which the nodes 0 and 1 are ready from the start. */
export function workflow(scene: Scene, sample: WorkflowSample = {}): OpenWorkflow {
  const { deadline, nodes = 4, graph, definitions, payloads, output = null, nested, roots, queue: _, ...job } = sample;
  const usual = scene.job(job);
  const whole: OpenWorkflow = {
    ...usual,
    queue: "OPEN",
    deadline: deadline ?? usual.createdAt + 3_600_000,
    nodes,
    graph: graph ?? Buffer.from(`graph of ${usual.jobId}`),
    definitions: definitions ?? Buffer.from(`definitions of ${usual.jobId}`),
    payloads: payloads ?? [{ node: 1, payload: Buffer.from('"one"') }],
    output,
    ...(nested !== undefined && { nested }),
    roots: [],
  };
  return { ...whole, roots: roots ?? [newNode(scene, whole, 0), newNode(scene, whole, 1)] };
}

/** A workflow whose run waits to be opened. It has four nodes. */
export function waiting(scene: Scene, sample: WorkflowSample, queue: "READY" | "WAITING"): NewWorkflow {
  return { ...workflow(scene, { ...sample, roots: [] }), queue, deadline: null };
}

/** Submits one workflow alone, which must be accepted. */
export async function started(scene: Scene, sample: WorkflowSample = {}): Promise<OpenWorkflow> {
  const asked = workflow(scene, sample);
  await submitted(scene, asked);
  return asked;
}

/** Submits a workflow, which must be accepted. */
export async function submitted(scene: Scene, asked: NewWorkflow): Promise<void> {
  const { jobId, executionId } = asked;
  assert.deepEqual(await scene.store.submit([{ idempotency: null, jobs: [asked] }]), [
    { kind: "ACCEPTED", replayed: false, jobs: [{ jobId, executionId, deduplicated: false }] },
  ]);
}

/** Change that opens a run which waits. */
export function runOpens(scene: Scene, asked: Pick<NewWorkflow, "executionId" | "rank">, dueAt: number): RowChange {
  const now = scene.runtime.now();
  return firstChange(
    { id: asked.executionId, rank: asked.rank, dueAt },
    { state: "RUNNING", queue: "OPEN", startedAt: now },
  );
}

/** Execution of a node as its run's owner creates it; its payload is that of the workflow. */
export function newNode(
  scene: Scene,
  asked: Pick<NewWorkflow, "executionId" | "tenant" | "shard" | "definition" | "payloads">,
  node: number,
  more: Partial<Candidate> = {},
): NewNode {
  const now = scene.runtime.now();
  const { pool, policy } = asked.definition;
  const row: Candidate = {
    ...{
      id: nodeId(asked.executionId, node, more.item),
      jobId: asked.executionId,
      shard: asked.shard,
      tenant: asked.tenant,
    },
    ...{ pool, handler: `step-${node}`, requires: [], concurrencyKey: null, concurrencyLimit: 1, hasUniqueKey: false },
    ...{ priority: 5, rank: now, dueAt: now, scheduledAt: now, policy, jobVersion: 1 },
    payloadBytes: asked.payloads.find((payload) => payload.node === node)?.payload.length ?? 0,
    ...{ state: "PENDING", queue: "READY", attempt: 0, failures: 0, lost: 0, startedAt: null, node },
    ...more,
  };
  return { row, laneHash: laneHash(row), createdAt: now };
}

/** A node that a commit creates after the executions of other nodes. */
export function birth(
  scene: Scene,
  asked: NewWorkflow,
  node: number,
  after: readonly number[] = [],
  more: Partial<Candidate> = {},
): NodeBirth {
  return { ...newNode(scene, asked, node, more), after: after.map((parent) => nodeId(asked.executionId, parent)) };
}

/** A node that a commit creates and assigns. */
export function assignedBirth(
  scene: Scene,
  asked: NewWorkflow,
  node: number,
  after: readonly number[] = [],
): NodeBirth {
  const row = { state: "RUNNING", queue: "HELD", attempt: 1 } as const;
  return { ...birth(scene, asked, node, after, row), assigned: { workerId: "w1", gateway: "g1" } };
}

/** Change that an owner makes when the first attempt of a node has succeeded. */
export function nodeEnds(
  scene: Scene,
  { executionId }: NewWorkflow,
  node: number,
  change: Partial<RowChange> = {},
): RowChange {
  const now = scene.runtime.now();
  return firstChange(
    { id: nodeId(executionId, node), rank: now, dueAt: now },
    {
      ...{ state: "SUCCEEDED", attempt: 1, queue: "NONE", startedAt: now, finishedAt: now },
      ended: [{ attempt: 1, workerId: "w1", state: "SUCCEEDED", startedAt: now, finishedAt: now, error: null }],
      ...change,
    },
  );
}

/** Last change of a run. */
export function runEnds(scene: Scene, asked: OpenWorkflow, change: Partial<RowChange> = {}): RowChange {
  const now = scene.runtime.now();
  return firstChange(
    { id: asked.executionId, rank: asked.rank, dueAt: asked.deadline },
    {
      ...{ wasState: "RUNNING", state: "SUCCEEDED", queue: "NONE", startedAt: asked.createdAt, finishedAt: now },
      ...{ releaseUniqueKey: asked.definition.uniqueKey !== null },
      ...change,
    },
  );
}

/** The run as the store has it; it must be open. */
export async function loaded(scene: Scene, { executionId }: Pick<NewWorkflow, "executionId">): Promise<LoadedRun> {
  const [run] = await scene.store.runs.load([executionId]);
  assert.ok(run, "there is such an open run");
  return run;
}

/** Numbers of the nodes that have an execution. */
export async function born(scene: Scene, asked: NewWorkflow): Promise<number[]> {
  return (await loaded(scene, asked)).executions.map(({ node }) => node);
}

/** An execution as `StoreRuns.load` tells it. */
export function execution(asked: NewWorkflow, node: number, more: Partial<NodeExecution> = {}): NodeExecution {
  const id = nodeId(asked.executionId, node, more.item ?? 0);
  return { id, node, item: null, state: "PENDING", branch: null, isParked: false, ...more };
}

/** Row of a run as owners read it. */
export function runRow({ jobId, executionId, ...asked }: NewWorkflow): Candidate {
  const { definition, shard, tenant, rank, deadline, queue, payload, createdAt } = asked;
  const { pool, handler, requires, priority, scheduledAt, policy, concurrencyKey, concurrencyLimit } = definition;
  return {
    ...{ id: executionId, jobId, shard, tenant, pool, handler, requires, concurrencyKey, concurrencyLimit },
    ...{ hasUniqueKey: definition.uniqueKey !== null, priority, rank, dueAt: deadline ?? scheduledAt, scheduledAt },
    ...{ policy, jobVersion: 1, payloadBytes: payload?.length ?? 0, state: deadline === null ? "PENDING" : "RUNNING" },
    ...{ queue, attempt: 0, failures: 0, lost: 0, startedAt: deadline === null ? null : createdAt, node: RUN_NODE },
  };
}
