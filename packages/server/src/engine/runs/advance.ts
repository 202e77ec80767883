import { type Candidate, isKeyedNode } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { laneHash } from "../../domain/lane.ts";
import { edgesOf, nodeOfEdge } from "../../domain/workflow/adjacency.ts";
import type { StoredNode } from "../../domain/workflow/definition.ts";
import { nodeExecution } from "../../domain/workflow/node-execution.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { CancelCommand, RunCommand } from "../../ports/store-commands.ts";
import type { RunMode } from "../../ports/store-runs.ts";
import type { Batch } from "../batch.ts";
import type { Input } from "../inputs.ts";
import { answer } from "../jobs/answers.ts";
import { applyHints, bringBorn } from "../queue/intake.ts";
import { type MachineState, poolOf, type Step } from "../state.ts";
import { cancelForFailure, cancelNodes } from "./cancel-nodes.ts";
import { endRuns } from "./end.ts";
import { isHeld } from "./hold.ts";
import { confirmOrders, followOrders, nodeParked, writeRun } from "./pause.ts";
import type { NodeEnd, Run } from "./runs.ts";

/**
 * Largest number of nodes of a run that are created and not final. It bounds the READY rows of a run, and the executions
 * that one commit creates.
 */
const LIVE_MAX = 4_000;

/** Draws the consequences of the ends of nodes in this step. A run that is not in memory is read, and advanced then. */
export function advanceRuns(step: Step): void {
  const { runs } = step.state;
  const untold = [...runs.untold];
  runs.untold.clear();
  for (const run of untold) if (runs.byId.get(run.id) === run) cancelNodes(step, run, run.progress.toCancel());
  // A run that ends its other nodes adds their ends.
  for (let end = runs.ended.shift(); end !== undefined; end = runs.ended.shift()) nodeEnded(step, end);
}

function nodeEnded(step: Step, end: NodeEnd): void {
  const { runs } = step.state;
  const run = runs.byId.get(end.run);
  const { isDurable = false } = end;
  // A read of the run shows a durable end.
  if (run === undefined && isDurable) return runs.expect(end.run);
  if (run === undefined) return endEarly(step, end);
  // The read that has brought the run since may have shown a durable end.
  if (isDurable && run.progress.stateOf(end.node) !== "LIVE") return;
  const { mode } = run.progress;
  applyEnd(step, run, end);
  advance(step, run, isDurable ? [] : [end.id]);
  // No batch has to be answered before the failure of the run is certain.
  if (isDurable && run.progress.mode !== mode) cancelNodes(step, run, run.progress.toCancel());
}

/** Keeps the end of a node until its run is read. */
function endEarly({ state: { runs }, batch }: Step, end: NodeEnd): void {
  runs.expect(end.run);
  const early = { ...end, batch: batch.number };
  const others = runs.earlyEnds.get(end.run);
  if (others === undefined) runs.earlyEnds.set(end.run, [early]);
  else others.push(early);
}

/** Applies an end that this batch writes to the states of the run's nodes. */
export function applyEnd(step: Step, run: Run, end: NodeEnd): void {
  step.state.recentWrites.add(run.id, step.batch.number);
  const { skipped } = run.progress.ended(end.node, end);
  if (skipped.length > 0) noteSkips(step, run, end.isDurable ? [] : [end.id], skipped);
}

/**
 * Does what follows from the states of a run's nodes, from its deadline, and from commands.
 * @param ends ends in this batch that the states follow from
 */
export function advance(step: Step, run: Run, ends: readonly ExecutionId[] = []): void {
  // The mode FAILING follows from the nodes, so a run that was read may be ahead of its row.
  if (run.mode === "RUNNING" && run.progress.mode === "FAILING") writeMode(step, run, "FAILING", ends);
  const mode = endingMode(step, run);
  if (mode !== null) {
    // No node starts any more, so a pause has no effect.
    run.paused = false;
    run.parking = null;
    writeMode(step, run, mode);
    cancelNodes(step, run, run.progress.setMode("CANCELLING").cancel);
  }
  followOrders(step, run);
  createReady(step, run);
  if (run.overIn !== null || run.progress.live + run.progress.ready > 0) return;
  run.overIn = step.batch.number;
  step.state.runs.over.add(run);
}

/** Mode in which the run ends before its nodes have; null: it goes on, or has such a mode already. */
function endingMode({ state }: Step, { id, mode, timer }: Run): RunMode | null {
  if (mode === "CANCELLING" || mode === "EXPIRING") return null;
  if (state.runs.cancels.has(id) || state.runs.superseded.has(id)) return "CANCELLING";
  return timer === null ? "EXPIRING" : null;
}

function writeMode(step: Step, run: Run, mode: RunMode, after: readonly ExecutionId[] = []): void {
  run.mode = mode;
  if (after.length > 0) awaitFailure(step, run);
  writeRun(step, run, after);
}

/** Notes that the run is FAILING because of ends that the store may not write, until this batch is answered. */
export function awaitFailure({ state, batch }: Step, run: Run): void {
  run.failingIn = batch.number;
  state.runs.failing.add(run);
}

function createReady(step: Step, run: Run): void {
  if (isHeld(run)) return;
  const nodes = run.progress.takeReady(LIVE_MAX - run.progress.live);
  if (nodes.length === 0) return;
  for (const node of nodes) {
    const row = createdNode(step, run, node);
    run.uncommitted.add(row.id);
    step.batch.create(run.shard, {
      row,
      laneHash: laneHash(row),
      after: [...endsBefore(step, run, node)],
      createdAt: step.now,
    });
  }
  step.state.recentWrites.add(run.id, step.batch.number);
}

function createdNode({ state, now }: Step, { id, shard, read, signalled }: Run, node: number): Candidate {
  const { tenant, jobVersion, scheduledAt } = read.row;
  const definition = read.definitions[node] as StoredNode;
  const pool = poolOf(state, definition.pool);
  const row = nodeExecution({ id, shard, tenant, jobVersion, scheduledAt }, node, definition, pool, now);
  if (signalled.has(row.id)) row.steps = "RECORDED";
  return row;
}

/** Records the ends in this batch from which skips follow: a node that follows from a skip follows from these ends. */
function noteSkips(step: Step, run: Run, ends: readonly ExecutionId[], skipped: readonly number[]): void {
  const { number } = step.batch;
  if (run.skips?.batch !== number) run.skips = { batch: number, causes: new Map() };
  const { positions } = run.progress.graph;
  const place = (node: number) => positions[node] as number;
  for (const node of [...skipped].sort((a, b) => place(a) - place(b))) {
    run.skips.causes.set(node, new Set([...endsBefore(step, run, node), ...ends]));
  }
}

/**
 * Changes that the batch writes and from which the state of a node follows: ends of its parents, ends that skipped a
 * parent, and the opening of the run. The store creates the node only if it writes them.
 */
function endsBefore(step: Step, { id, shard, progress, skips }: Run, node: number): Set<ExecutionId> {
  const { changes } = step.batch.shard(shard);
  const causes = skips?.batch === step.batch.number ? skips.causes : null;
  const ends = new Set<ExecutionId>();
  if (changes.get(id)?.queue === "OPEN") ends.add(id);
  for (const edge of edgesOf(progress.graph.parents, node)) {
    const parent = nodeOfEdge(edge);
    for (const cause of causes?.get(parent) ?? []) ends.add(cause);
    // A skipped node has no execution. The check saves the computation of an id.
    if (progress.stateOf(parent) === "SKIPPED") continue;
    const execution = nodeExecutionId(id, parent, null, 0);
    if (changes.get(execution)?.queue === "NONE") ends.add(execution);
  }
  return ends;
}

/** Cancels a run. The command stays open until the run is final, so that a next owner repeats it. */
export function cancelRun(step: Step, id: ExecutionId, command: CancelCommand): void {
  const { runs } = step.state;
  runs.cancels.set(id, [...(runs.cancels.get(id) ?? []), command]);
  answer(step, command, "REQUESTED");
  const run = runs.byId.get(id);
  if (run === undefined) runs.expect(id);
  else advance(step, run);
}

/** Cancels a run, because a newer instant of its job waits for its end. */
export function supersedeRun(step: Step, id: ExecutionId): void {
  const { runs } = step.state;
  if (runs.superseded.has(id)) return;
  runs.superseded.add(id);
  const run = runs.byId.get(id);
  if (run === undefined) runs.expect(id);
  else advance(step, run);
}

/** Pauses or resumes a run. The command stays open until the run's row says so. */
export function orderRun(step: Step, command: RunCommand): void {
  const { runs } = step.state;
  const id = command.executionId;
  runs.orders.set(id, [...(runs.orders.get(id) ?? []), command]);
  const run = runs.byId.get(id);
  if (run === undefined) runs.expect(id);
  else advance(step, run);
}

/**
 * Drops a run whose memory may be wrong, because the store has not written an end or a node as the machine expected, and
 * reads it again. The next batch must not create nodes that follow from that end.
 */
export function reload({ runs, recentWrites }: MachineState, next: Batch, runId: ExecutionId): void {
  const run = runs.byId.get(runId);
  if (run !== undefined) runs.drop(run);
  runs.earlyEnds.delete(runId);
  next.withdraw(runId);
  recentWrites.add(runId, next.number);
  runs.expect(runId);
}

/** Handles the answer to a commit, as far as it is about workflow runs. */
export function applyCommitted(step: Step, { nodes, missedRuns, batch }: Extract<Input, { kind: "CREATED" }>): void {
  const { runs } = step.state;
  runs.committed = batch;
  for (const run of missedRuns) reload(step.state, step.batch, run);
  for (const { jobId } of nodes.notCreated) reload(step.state, step.batch, jobId);
  cancelForFailure(step, batch);
  for (const row of nodes.created) {
    const run = runs.byId.get(row.jobId);
    run?.uncommitted.delete(row.id);
    // Another owner may have had the shard of the key since, so the row is known only as from a hint.
    if (isKeyedNode(row)) applyHints(step, [row]);
    else bringBorn(step, row);
    if (run === undefined) continue;
    if (run.mode !== "RUNNING") cancelNodes(step, run, run.progress.toCancel());
    nodeParked(step, run, row.id);
  }
  for (const run of confirmOrders(step, batch)) advance(step, run);
  endRuns(step, batch);
}
