import type { ExecutionId } from "../domain/ids.ts";
import type { LiveExecution } from "../ports/messages.ts";
import type { MachineState } from "./state.ts";

/** What the owner knows of an execution beyond its row; null: nothing. */
export function liveExecution(state: MachineState, id: ExecutionId): LiveExecution | null {
  const entry = state.entries.get(id);
  if (entry === undefined) return null;
  const { assigned } = entry;
  return {
    executionId: id,
    state: assigned === null ? "PENDING" : assigned.startedAt === null ? "SCHEDULED" : "RUNNING",
    attempt: entry.row.attempt,
    workerId: assigned?.workerId ?? null,
    startedAt: entry.row.startedAt,
    cancelRequested: entry.cancels.length > 0,
  };
}

/** Figures of what is in memory. */
export interface MachineCounts {
  /** Waiting for their time. */
  waiting: number;
  /** Ready, and no worker yet. */
  ready: number;
  assigned: number;
  workers: number;
}

export function countEntries(state: MachineState): MachineCounts {
  let waiting = 0;
  let ready = 0;
  let assigned = 0;
  for (const entry of state.entries.values()) {
    if (entry.place === "TIMER") waiting++;
    else if (entry.place === "LANE") ready++;
    else if (entry.place === "ASSIGNED") assigned++;
  }
  return { waiting, ready, assigned, workers: [...state.workers.all()].length };
}
