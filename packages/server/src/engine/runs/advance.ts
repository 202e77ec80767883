import { isKeyedNode } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { isCompensation } from "../../domain/workflow/compensation-number.ts";
import type { ProgressChange } from "../../domain/workflow/readiness.ts";
import type { CancelCommand, RunCommand } from "../../ports/store-commands.ts";
import type { RunMode } from "../../ports/store-runs.ts";
import type { Batch } from "../batch.ts";
import type { Input } from "../inputs.ts";
import { answer } from "../jobs/answers.ts";
import { applyHints, bringBorn } from "../queue/intake.ts";
import type { MachineState, Step } from "../state.ts";
import { createReady, noteSkips } from "./births.ts";
import { bringAssigned, notBorn, withdrawBirths } from "./born-assigned.ts";
import { cancelBorn, cancelForFailure, cancelItems, cancelNodes, cancelStopped, isStopped } from "./cancel-nodes.ts";
import { compensationEnded, confirmCompensations, createCompensations, isCompensated } from "./compensate.ts";
import { askForCounts, countItems } from "./count-items.ts";
import { endRun, endRuns } from "./end.ts";
import { isHeld } from "./hold.ts";
import { isLive } from "./keyed-nodes.ts";
import { confirmOrders, followOrders, nodeParked, writeRun } from "./pause.ts";
import type { NodeEnd, Run, Undo } from "./runs.ts";
import { addPart } from "./spawn.ts";

/** Draws the consequences of the ends of nodes in this step. A run that is not in memory is read, and advanced then. */
export function advanceRuns(step: Step): void {
  const { runs } = step.state;
  const untold = [...runs.untold];
  runs.untold.clear();
  for (const run of untold) if (runs.byId.get(run.id) === run) cancelStopped(step, run);
  // A run that ends its other nodes adds their ends, and asks sub-workflows to end, which end their nodes.
  while (runs.ended.length + runs.toStop.size > 0) {
    for (let end = runs.ended.shift(); end !== undefined; end = runs.ended.shift()) nodeEnded(step, end);
    for (const id of runs.toStop) stopRun(step, id);
  }
}

/** Ends the run of a sub-workflow, because its parent asks for it. */
function stopRun(step: Step, id: ExecutionId): void {
  const { runs } = step.state;
  runs.toStop.delete(id);
  const run = runs.byId.get(id);
  if (run === undefined) runs.expect(id);
  else advance(step, run);
}

function nodeEnded(step: Step, end: NodeEnd): void {
  const { runs } = step.state;
  const run = runs.byId.get(end.run);
  const { isDurable = false } = end;
  // A read of the run shows a durable end.
  if (run === undefined && isDurable) return runs.expect(end.run);
  if (run === undefined) return endEarly(step, end);
  // The read that has brought the run since may have shown a durable end.
  if (isDurable && !isLive(run, end)) return;
  if (isCompensation(end.node)) compensationEnded(step, run, end);
  if (isCompensation(end.node)) return isDurable ? advance(step, run) : undefined;
  const { mode } = run.progress;
  applyEnd(step, run, end);
  advance(step, run, isDurable ? [] : [end.id]);
  // No batch has to be answered before the failure of the run is certain.
  if (isDurable && run.progress.mode !== mode) cancelStopped(step, run);
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
  if (end.part !== undefined) addPart(run, end.part);
  const { skipped, stopsItems } = end.item === null ? run.progress.ended(end.node, end) : itemEnded(step, run, end);
  if (skipped.length > 0) noteSkips(step, run, end.isDurable ? [] : [end.id], skipped);
  if (stopsItems) cancelItems(step, run, run.progress.itemsToCancel());
}

/** Applies the end of an item of a map. */
function itemEnded(step: Step, run: Run, { id, node, item, state, isDurable }: NodeEnd): ProgressChange {
  // The nodes behind a map need not wait for an end that is durable.
  if (isDurable) return run.progress.itemEnded(node, item ?? 0, state);
  const { number } = step.batch;
  if (run.itemEnds?.batch !== number) run.itemEnds = { batch: number, byMap: new Map() };
  const { byMap } = run.itemEnds;
  const ends = byMap.get(node) ?? [];
  ends.push(id);
  byMap.set(node, ends);
  const change = run.progress.itemEnded(node, item ?? 0, state);
  // The run's row changes with the ends of the items, and what follows from the map is created only if it does. So the
  // nodes behind a map need not name the ends of all items.
  if (run.progress.stateOf(node) !== "LIVE") writeRun(step, run, ends);
  return change;
}

/**
 * Does what follows from the states of a run's nodes, from its deadline, and from commands.
 * @param ends ends in this batch that the states follow from
 */
export function advance(step: Step, run: Run, ends: readonly ExecutionId[] = []): void {
  if (run.undo !== null) return compensate(step, run, run.undo);
  // The mode FAILING follows from the nodes, so a run that was read may be ahead of its row.
  if (run.mode === "RUNNING" && run.progress.mode === "FAILING") writeMode(step, run, "FAILING", ends);
  const mode = endingMode(step, run);
  if (mode !== null) {
    // No node starts any more, so a pause has no effect.
    run.paused = false;
    run.parking = null;
    writeMode(step, run, mode);
    const { cancel, stopsItems } = run.progress.setMode("CANCELLING");
    cancelNodes(step, run, cancel);
    if (stopsItems) cancelItems(step, run, run.progress.itemsToCancel());
  }
  followOrders(step, run);
  countItems(step, run);
  createReady(step, run, ends);
  if (run.overIn !== null || !run.progress.isOver) return;
  run.overIn = step.batch.number;
  step.state.runs.over.add(run);
}

/** Goes on with a run that compensates its nodes. Neither its deadline nor a command cancels it. */
function compensate(step: Step, run: Run, undo: Undo): void {
  followOrders(step, run);
  createCompensations(step, run, undo);
  if (isCompensated(undo)) endRun(step, run);
}

/** Mode in which the run ends before its nodes have; null: it goes on, or has such a mode already. */
function endingMode({ state }: Step, { id, mode, timer }: Run): RunMode | null {
  if (mode === "CANCELLING" || mode === "EXPIRING") return null;
  const { cancels, superseded, stopped } = state.runs;
  if (cancels.has(id) || superseded.has(id) || stopped.has(id)) return "CANCELLING";
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

/** Applies the number of a map's items. A run that has left memory asks again when it is read. */
export function applyCounted(step: Step, { run: id, count }: Extract<Input, { kind: "COUNTED" }>): void {
  const { runs } = step.state;
  const run = runs.byId.get(id);
  if (run === undefined) return runs.expect(id);
  const { node, items } = count;
  run.counting.delete(node);
  if (!run.progress.uncounted.has(node)) return;
  run.mapCounts = [...run.mapCounts, count];
  writeRun(step, run, [], run.mapCounts);
  const { cancel, skipped, stopsItems } = run.progress.counted(node, typeof items === "number" ? items : null);
  if (skipped.length > 0) noteSkips(step, run, [], skipped);
  cancelNodes(step, run, cancel);
  if (stopsItems) cancelItems(step, run, run.progress.itemsToCancel());
  advance(step, run);
}

/**
 * Drops a run whose memory may be wrong, because the store has not written an end or a node as the machine expected, and
 * reads it again. The next batch must not create nodes that follow from that end.
 */
export function reload(state: MachineState, next: Batch, runId: ExecutionId): void {
  const { runs, recentWrites } = state;
  const run = runs.byId.get(runId);
  if (run !== undefined) runs.drop(run);
  runs.earlyEnds.delete(runId);
  withdrawBirths(state, next, runId);
  recentWrites.add(runId, next.number);
  runs.expect(runId);
}

/** Handles the answer to a commit, as far as it is about workflow runs. */
export function applyCommitted(step: Step, { nodes, missedRuns, batch }: Extract<Input, { kind: "CREATED" }>): void {
  const { runs } = step.state;
  runs.committed = batch;
  for (const run of missedRuns) reload(step.state, step.batch, run);
  for (const { id, jobId } of nodes.notCreated) {
    notBorn(step.state, id);
    reload(step.state, step.batch, jobId);
  }
  cancelForFailure(step, batch);
  for (const row of nodes.created) {
    const run = runs.byId.get(row.jobId);
    run?.uncommitted.delete(row.id);
    const isUnwanted = run !== undefined && (isHeld(run) || isStopped(run, row));
    // Another owner may have had the shard of the key since, so the row is known only as from a hint.
    if (isKeyedNode(row)) applyHints(step, [row]);
    else if (!bringAssigned(step, row, isUnwanted)) bringBorn(step, row);
    if (run === undefined) continue;
    cancelBorn(step, run, row);
    nodeParked(step, run, row.id);
  }
  askForCounts(step, batch);
  for (const run of confirmOrders(step, batch)) advance(step, run);
  endRuns(step, batch);
  for (const run of confirmCompensations(step, batch)) advance(step, run);
}
