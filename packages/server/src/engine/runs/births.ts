import type { Candidate } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { laneHash } from "../../domain/lane.ts";
import { nodesTraceparent } from "../../domain/trace.ts";
import { edgesOf, nodeOfEdge } from "../../domain/workflow/adjacency.ts";
import type { StoredNode } from "../../domain/workflow/definition.ts";
import { nodesOfSpawn, type WorkflowGraph } from "../../domain/workflow/graph.ts";
import { nodeExecution } from "../../domain/workflow/node-execution.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { tellCreated } from "../events.ts";
import { poolOf, type Step } from "../state.ts";
import { isHeld } from "./hold.ts";
import { LIVE_MAX } from "./limits.ts";
import type { Run } from "./runs.ts";

/** Creates executions of the nodes and items that may start, as far as the window of the run has room. @param ends ends in this batch that made room */
export function createReady(step: Step, run: Run, ends: readonly ExecutionId[]): void {
  if (isHeld(run)) return;
  const { progress } = run;
  const nodes = progress.takeReady(LIVE_MAX - progress.live);
  for (const node of nodes) create(step, run, node, null, [...endsBefore(step, run, node)]);
  const items = progress.takeItems(LIVE_MAX - progress.live);
  // An item may have the place of another one only if the other one has ended.
  for (const [node, item] of items) create(step, run, node, item, ends);
  if (nodes.length + items.length > 0) step.state.recentWrites.add(run.id, step.batch.number);
}

function create(step: Step, run: Run, node: number, item: number | null, after: readonly ExecutionId[]): void {
  const row = createdNode(step, run, node, item);
  const workflow = run.read.definitions[node]?.workflow;
  const birth = { row, laneHash: laneHash(row), after, createdAt: step.now };
  run.uncommitted.add(row.id);
  step.batch.create(run.shard, workflow === undefined ? birth : { ...birth, workflow });
  tellCreated(step, run.shard, row, "NODE", step.now);
}

function createdNode(
  { state, now }: Step,
  { id, shard, read, signalled }: Run,
  node: number,
  item: number | null,
): Candidate {
  const { tenant, jobVersion, scheduledAt } = read.row;
  const definition = read.definitions[node] as StoredNode;
  const pool = poolOf(state, definition.pool);
  const traceparent = nodesTraceparent(read.row, state.exportsSpans);
  const ofRun = { id, shard, tenant, jobVersion, scheduledAt, traceparent };
  const row = nodeExecution(ofRun, node, definition, pool, now, item);
  if (signalled.has(row.id)) row.steps = "RECORDED";
  return row;
}

/** Records the ends in this batch from which skips follow: a node that follows from a skip follows from these ends. */
export function noteSkips(step: Step, run: Run, ends: readonly ExecutionId[], skipped: readonly number[]): void {
  const { number } = step.batch;
  if (run.skips?.batch !== number) run.skips = { batch: number, causes: new Map() };
  const { positions } = run.progress.graph;
  const place = (node: number) => positions[node] as number;
  for (const node of [...skipped].sort((a, b) => place(a) - place(b))) {
    const causes = endsBefore(step, run, node);
    for (const end of ends) causes.add(end);
    run.skips.causes.set(node, causes);
  }
}

/** A node, and the nodes for which its dependents wait because its handler has added them. */
function* heldBy(graph: WorkflowGraph, node: number): Generator<number> {
  yield node;
  const spawn = graph.spawnsOf.get(node);
  if (spawn === undefined) return;
  for (const spawned of nodesOfSpawn(spawn)) if (graph.holderOf(spawned) === node) yield* heldBy(graph, spawned);
}

/**
 * Changes that the batch writes and from which the state of a node follows: ends of its parents, ends that skipped a
 * parent, and the opening of the run. The store creates the node only if it writes them. Ends of items are left out,
 * because the change of the run's row stands for them.
 */
export function endsBefore(step: Step, { id, shard, progress, skips }: Run, node: number): Set<ExecutionId> {
  const { changes } = step.batch.shard(shard);
  const causes = skips?.batch === step.batch.number ? skips.causes : null;
  const { graph } = progress;
  const ends = new Set<ExecutionId>();
  const addEnd = (parent: number) => {
    for (const cause of causes?.get(parent) ?? []) ends.add(cause);
    // A skipped node has no execution. The check saves the computation of an id.
    if (progress.stateOf(parent) === "SKIPPED" || graph.isMap(parent)) return;
    const execution = nodeExecutionId(id, parent, null, 0);
    if (changes.get(execution)?.queue === "NONE") ends.add(execution);
  };
  if (changes.get(id)?.queue === "OPEN") ends.add(id);
  if (graph.spawnerOf(node) >= 0) addEnd(graph.spawnerOf(node));
  for (const edge of edgesOf(graph.parents, node)) for (const parent of heldBy(graph, nodeOfEdge(edge))) addEnd(parent);
  return ends;
}
