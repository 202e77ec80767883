import { isFinal } from "../../domain/execution.ts";
import { laneHash } from "../../domain/lane.ts";
import { nodesTraceparent } from "../../domain/trace.ts";
import { Compensation, nodesToCompensate } from "../../domain/workflow/compensation.ts";
import { compensationOf, isCompensation, nodeOfCompensation } from "../../domain/workflow/compensation-number.ts";
import type { StoredCompensation } from "../../domain/workflow/definition.ts";
import { keptCompensations } from "../../domain/workflow/kept-nodes.ts";
import { nodeExecution } from "../../domain/workflow/node-execution.ts";
import type { RunProgress } from "../../domain/workflow/readiness.ts";
import type { RunOutcome } from "../../ports/store-runs.ts";
import { tellCreated } from "../events.ts";
import type { ReadRun } from "../inputs.ts";
import { poolOf, type Step } from "../state.ts";
import { isHeld } from "./hold.ts";
import { LIVE_MAX } from "./limits.ts";
import { writeRun } from "./pause.ts";
import type { EarlyEnd, NodeEnd, Run, Undo } from "./runs.ts";

/**
 * Compensation of runs that are DEAD or CANCELLED. It begins when the ends of all nodes are durable, and each compensation is
 * created when the ends of those before it are. So no row depends on an end that the store may refuse, and a next owner
 * goes on from what the rows say.
 */

/**
 * Begins the compensation of a run whose nodes have ended.
 * @param outcome end of the run
 * @returns false: there is nothing to compensate
 */
export function beginCompensation(step: Step, run: Run, outcome: RunOutcome): boolean {
  const { definitions } = run.read;
  if (run.outcome !== null) return false;
  const nodes = nodesToCompensate(run.progress, definitions).filter(
    (node) => outcome.state === "DEAD" || definitions[node]?.compensate?.onCancel,
  );
  if (nodes.length === 0) return false;
  run.overIn = null;
  step.state.runs.over.delete(run);
  run.outcome = outcome;
  run.undo = { compensation: Compensation.of(run.progress.graph, nodes, [], []), ends: [] };
  writeRun(step, run);
  createCompensations(step, run, run.undo);
  return true;
}

/**
 * Compensation of a run by its rows; null: the run has not begun to compensate its nodes.
 * @param early ends that the machine has written, and that the read may not show
 * @param committed number of the last batch that the store has applied
 */
export function undoOf(
  { outcome, executions, kept, definitions }: ReadRun,
  progress: RunProgress,
  early: readonly EarlyEnd[],
  committed: number,
): Undo | null {
  if (outcome === null) return null;
  const earlyOf = new Map(early.map((end) => [end.node, end]));
  const ended: [number, boolean][] = [];
  const live: number[] = [];
  const ends: Undo["ends"] = [];
  for (const node of keptCompensations(kept)) ended.push([node, true]);
  for (const { node, state } of executions) {
    if (!isCompensation(node)) continue;
    const of = nodeOfCompensation(node);
    const end = earlyOf.get(node);
    const isEnded = isFinal(state) || (end !== undefined && end.batch <= committed);
    if (isEnded) ended.push([of, (end?.state ?? state) === "SUCCEEDED"]);
    else live.push(of);
    if (!isEnded && end !== undefined) ends.push({ batch: end.batch, node: of, succeeded: end.state === "SUCCEEDED" });
  }
  const nodes = nodesToCompensate(progress, definitions);
  return { compensation: Compensation.of(progress.graph, nodes, ended, live), ends };
}

/** Notes the end of a compensation, which counts once it is durable. */
export function compensationEnded({ state, batch }: Step, run: Run, { node, state: end, isDurable }: NodeEnd): void {
  state.recentWrites.add(run.id, batch.number);
  if (isDurable) return run.undo?.compensation.ended(nodeOfCompensation(node), end === "SUCCEEDED");
  run.undo?.ends.push({ batch: batch.number, node: nodeOfCompensation(node), succeeded: end === "SUCCEEDED" });
  state.runs.undoing.add(run);
}

/**
 * Applies the ends of compensations that are durable.
 * @param committed number of the batch that the store has applied
 * @returns runs that may go on
 */
export function confirmCompensations({ state: { runs } }: Step, committed: number): Run[] {
  const changed: Run[] = [];
  for (const run of runs.undoing) {
    const { undo } = run;
    const durable = undo?.ends.filter(({ batch }) => batch <= committed) ?? [];
    if (undo === null || durable.length === 0) continue;
    undo.ends = undo.ends.filter(({ batch }) => batch > committed);
    for (const { node, succeeded } of durable) undo.compensation.ended(node, succeeded);
    if (undo.ends.length === 0) runs.undoing.delete(run);
    changed.push(run);
  }
  return changed;
}

/** Creates executions of READY compensations, unless the run is paused. They count for the window of the run. */
export function createCompensations(step: Step, run: Run, { compensation }: Undo): void {
  if (isHeld(run)) return;
  const nodes = compensation.takeReady(LIVE_MAX - compensation.live);
  if (nodes.length === 0) return;
  const { tenant, jobVersion, scheduledAt } = run.read.row;
  const { id, shard } = run;
  const traceparent = nodesTraceparent(run.read.row, step.state.exportsSpans);
  for (const node of nodes) {
    const work = run.read.definitions[node]?.compensate as StoredCompensation;
    const pool = poolOf(step.state, work.pool);
    const ofRun = { id, shard, tenant, jobVersion, scheduledAt, traceparent };
    const row = nodeExecution(ofRun, compensationOf(node), work, pool, step.now);
    run.uncommitted.add(row.id);
    step.batch.create(shard, { row, laneHash: laneHash(row), after: [], createdAt: step.now });
    tellCreated(step, shard, row, "NODE", step.now);
  }
  step.state.recentWrites.add(id, step.batch.number);
}

/** Whether every compensation of the run that can end has ended. */
export function isCompensated({ compensation }: Undo): boolean {
  return compensation.live + compensation.ready === 0;
}

/** End of a run whose compensation has ended. */
export function compensatedEnd({ outcome, read }: Run, { compensation }: Undo): RunOutcome {
  const { failed } = compensation;
  const end = outcome as RunOutcome;
  if (failed === null) return end;
  const why = end.error === null ? "the run was cancelled" : `the run failed: ${end.error.message}`;
  const message = `the compensation of its node ${read.definitions[failed]?.name ?? failed} has not succeeded; ${why}`;
  return { state: "DEAD", reason: "COMPENSATION_FAILED", error: { name: "CompensationFailed", message } };
}
