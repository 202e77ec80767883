import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { RunMode } from "../../ports/store-runs.ts";
import { orderStop } from "../attempts/cancel.ts";
import { type Entry, isCancelled } from "../entry.ts";
import { finishEntry } from "../rows.ts";
import type { Step } from "../state.ts";
import type { Run } from "./runs.ts";

/** Reason of a node that its run ended, by the mode of the run. A RUNNING run ends none. */
const REASONS: Readonly<Record<RunMode, string | null>> = {
  RUNNING: null,
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
  const { runs, entries } = step.state;
  const isEnding = run.mode === "CANCELLING" || run.mode === "EXPIRING";
  if (run.failingIn !== null && !isEnding) return;
  for (const node of nodes) {
    const id = nodeExecutionId(run.id, node, null, 0);
    // The commit that creates the node is not answered yet. Its answer triggers this check again.
    if (run.uncommitted.has(id)) continue;
    const entry = entries.get(id);
    if (entry !== undefined) endNode(step, entry, run);
    else if (!runs.ending.has(id)) {
      runs.ending.set(id, { run: run.id, shard: run.shard });
      step.wants.push({ kind: "LOAD", ids: [id] });
    }
  }
}

/** Cancels the nodes of runs that a batch has made FAILING. */
export function cancelForFailure(step: Step, committed: number): void {
  const { failing } = step.state.runs;
  for (const run of failing) {
    if ((run.failingIn ?? 0) > committed) continue;
    run.failingIn = null;
    failing.delete(run);
    cancelNodes(step, run, run.progress.toCancel());
  }
}

/** Ends a node because its run asks for it. A worker that has the node is told to stop. */
export function endNode(step: Step, entry: Entry, { mode, progress }: Run): void {
  if (entry.superseded) return;
  const wasCancelled = isCancelled(entry);
  entry.superseded = true;
  if (entry.place !== "ASSIGNED")
    return finishEntry(step, entry, "CANCELLED", { reason: REASONS[mode === "RUNNING" ? progress.mode : mode] });
  // The worker of an execution that was taken over is told when it is back, as with a cancel command.
  if (!wasCancelled && entry.assigned?.soughtSince === null) orderStop(step, entry, "REQUESTED");
}
