import type { Candidate } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { NodeItem } from "../../domain/workflow/readiness.ts";
import type { RunMode } from "../../ports/store-runs.ts";
import { orderStop } from "../attempts/cancel.ts";
import { type Entry, isCancelled } from "../entry.ts";
import { finishEntry, forget } from "../rows.ts";
import type { Step } from "../state.ts";
import { cancelKeyed, isKeyed } from "./keyed-nodes.ts";
import type { Run } from "./runs.ts";

/** Reason of a node that its run ended, by the mode of the run. A RUNNING run ends only items of a map that has failed. */
const REASONS: Readonly<Record<RunMode, string>> = {
  RUNNING: "MAP_FAILED",
  FAILING: "WORKFLOW_FAILED",
  CANCELLING: "WORKFLOW_CANCELLED",
  EXPIRING: "WORKFLOW_TIMED_OUT",
};

/**
 * Cancels nodes that the mode of their run asks to end. The mode is durable at the latest in the commit that cancels
 * them, so a next owner repeats it without commands. A run that is FAILING because of ends in a batch cancels none until
 * the batch is answered, because the store may not write these ends.
 */
export function cancelNodes(step: Step, run: Run, nodes: readonly number[]): void {
  cancelExecutions(
    step,
    run,
    nodes.map((node) => [node, null]),
  );
}

/** Cancels items whose run or map asks for their end. The end of a map's failed items is durable in the same commit. */
export function cancelItems(step: Step, run: Run, items: Iterable<NodeItem>): void {
  cancelExecutions(step, run, items);
}

/** Cancels everything whose end the run asks for. */
export function cancelStopped(step: Step, run: Run): void {
  cancelNodes(step, run, run.progress.toCancel());
  cancelItems(step, run, run.progress.itemsToCancel());
}

/** Cancels an execution that was just created if its run asks for its end. */
export function cancelBorn(step: Step, run: Run, row: Candidate): void {
  const { node, item } = row;
  if (node !== undefined && isStopped(run, row)) cancelExecutions(step, run, [[node, item ?? null]]);
}

/** Whether the run asks for the end of an execution that was just created. */
export function isStopped(run: Run, { node, item }: Candidate): boolean {
  if (node === undefined || awaitsFailure(run)) return false;
  const { progress } = run;
  const stops = item === undefined ? progress.stops(node) : progress.stopsItemsOf(node);
  return stops && progress.stateOf(node) === "LIVE";
}

/** Whether the run is FAILING because of ends that are not known to be durable, so that it cancels nothing yet. */
function awaitsFailure({ mode, failingIn }: Run): boolean {
  return failingIn !== null && mode !== "CANCELLING" && mode !== "EXPIRING";
}

/** @param executions numbers of nodes, and indexes of items of maps; null: the node is no map */
function cancelExecutions(
  step: Step,
  run: Run,
  executions: Iterable<readonly [node: number, item: number | null]>,
): void {
  const { runs, entries } = step.state;
  if (awaitsFailure(run)) return;
  const changes = step.batch.shards.get(run.shard)?.changes;
  const unknown: ExecutionId[] = [];
  for (const [node, item] of executions) {
    const id = nodeExecutionId(run.id, node, item, 0);
    // The commit that creates the node is not answered yet. Its answer triggers this check again.
    if (run.uncommitted.has(id)) continue;
    if (isKeyed(run, node)) {
      cancelKeyed(step, run, { node, item, id }, reasonOf(run));
      continue;
    }
    // Its end is in this step, and the run learns of it next.
    if (changes?.get(id)?.queue === "NONE") continue;
    if (runs.byId.has(id)) {
      runs.stop(id, run.shard, reasonOf(run));
      continue;
    }
    const entry = entries.get(id);
    if (entry !== undefined) endNode(step, entry, run);
    else if (!runs.ending.has(id)) {
      runs.ending.set(id, { run: run.id, shard: run.shard });
      unknown.push(id);
    }
  }
  if (unknown.length > 0) step.wants.push({ kind: "LOAD", ids: unknown });
}

function reasonOf({ mode, progress }: Run): string {
  return REASONS[mode === "RUNNING" ? progress.mode : mode];
}

/** Cancels the nodes of runs that a batch has made FAILING. */
export function cancelForFailure(step: Step, committed: number): void {
  const { failing } = step.state.runs;
  for (const run of failing) {
    if ((run.failingIn ?? 0) > committed) continue;
    run.failingIn = null;
    failing.delete(run);
    cancelStopped(step, run);
  }
}

/** Ends a node because its run asks for it. A worker that has the node is told to stop, and an open sub-workflow to end. */
export function endNode(step: Step, entry: Entry, run: Run): void {
  if (entry.row.queue === "OPEN") {
    forget(step, entry);
    return step.state.runs.stop(entry.id, entry.row.shard, reasonOf(run));
  }
  if (entry.superseded) return;
  const wasCancelled = isCancelled(entry);
  entry.superseded = true;
  if (entry.place !== "ASSIGNED") return finishEntry(step, entry, "CANCELLED", { reason: reasonOf(run) });
  // The worker of an execution that was taken over is told when it is back, as with a cancel command.
  if (!wasCancelled && entry.assigned?.soughtSince === null) orderStop(step, entry, "REQUESTED");
}
