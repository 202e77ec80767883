import { type Candidate, isNodeBesideRun } from "../../domain/execution.ts";
import type { Entry } from "../entry.ts";
import { forget, writeRow } from "../rows.ts";
import type { MachineState, Step } from "../state.ts";
import type { Run } from "./runs.ts";

/** Nodes that their run keeps from starting. Their rows are PARKED, and they are not in memory. */

/** Whether no node of the run may start: the run is paused, or about to be. */
export function isHeld({ paused, parking }: Run): boolean {
  return paused || parking !== null;
}

/** Whether the execution is that of a node whose run holds it, as far as memory knows. */
export function isHeldNode({ state }: Pick<Step, "state">, row: Candidate): boolean {
  const run = isNodeBesideRun(row) ? state.runs.byId.get(row.jobId) : undefined;
  return run !== undefined && isHeld(run);
}

/**
 * Queue of a node whose attempt has ended without its end, or which was in the queue already. A node whose run is not in
 * memory is PARKED until the run is read, because the run may be paused.
 * @param queue queue of an execution that nothing holds
 */
export function queueFor({ runs }: MachineState, row: Candidate, queue: "WAITING" | "READY"): Candidate["queue"] {
  if (!isNodeBesideRun(row)) return queue;
  const run = runs.byId.get(row.jobId);
  return run === undefined || isHeld(run) ? "PARKED" : queue;
}

/**
 * Keeps a node that has come into memory out of its place if its run holds it.
 * @returns false: the node may start
 */
export function hold(step: Step, entry: Entry): boolean {
  const { row } = entry;
  const run = step.state.runs.byId.get(row.jobId);
  if (run === undefined ? row.queue !== "PARKED" : !isHeld(run)) return false;
  park(step, entry);
  return true;
}

/** Parks a node that no worker has. */
export function park(step: Step, entry: Entry): void {
  const { row, unverified } = entry;
  // Memory may be wrong about a hinted row. The pause reads the row, and parks the node then.
  if (row.queue !== "PARKED" && !unverified) writeWaiting(step, entry, "PARKED");
  if (step.batch.shards.get(row.shard)?.changes.has(entry.id)) {
    // A read that brings the run must show that the node is parked.
    for (const id of [entry.id, row.jobId]) step.state.recentWrites.add(id, step.batch.number);
  }
  forget(step, entry);
}

/** Writes the queue of a node that waits, and keeps the reason for which it waits. */
export function writeWaiting(step: Step, entry: Entry, queue: "PARKED" | "WAITING" | "READY"): void {
  const { row } = entry;
  const isDue = row.dueAt <= step.now;
  const suspends = isDue || row.steps === "RECORDED" ? undefined : row.steps;
  writeRow(step, entry, { state: "PENDING", queue, reason: reasonOf(row, isDue), ...(suspends && { suspends }) });
}

function reasonOf({ steps, failures }: Candidate, isDue: boolean): string | null {
  if (isDue) return null;
  if (steps === "SLEEPING") return "SLEEPING";
  if (steps === "AWAITING") return "AWAITS_SIGNAL";
  return failures > 0 ? "BACKOFF" : null;
}
