import type { ExecutionId } from "../domain/ids.ts";
import type { LiveExecution } from "../ports/messages.ts";
import { isCancelled } from "./entry.ts";
import type { MachineState } from "./state.ts";

/** State of an execution as its owner knows it, beyond its row; null: the owner does not have it in memory. */
export function liveExecution(state: MachineState, id: ExecutionId): LiveExecution | null {
  const entry = state.entries.get(id);
  if (entry === undefined) return liveRun(state, id);
  const { assigned } = entry;
  return {
    executionId: id,
    state: assigned === null ? "PENDING" : assigned.startedAt === null ? "SCHEDULED" : "RUNNING",
    attempt: entry.row.attempt,
    workerId: assigned?.workerId ?? null,
    startedAt: entry.row.startedAt,
    since: assigned === null ? null : (assigned.startedAt ?? assigned.at),
    cancelRequested: isCancelled(entry),
  };
}

/** A run in memory; null: there is none. A run that a command asks to end is on its way out of memory. */
function liveRun({ runs }: MachineState, id: ExecutionId): LiveExecution | null {
  const run = runs.byId.get(id);
  if (run === undefined) return null;
  const { row } = run.read;
  return {
    executionId: id,
    state: "RUNNING",
    attempt: row.attempt,
    workerId: null,
    startedAt: row.startedAt,
    since: row.startedAt,
    cancelRequested: run.mode === "CANCELLING",
  };
}
