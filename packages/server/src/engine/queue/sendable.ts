import type { EpochMs } from "../../domain/ids.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { MachineState } from "../state.ts";

/**
 * Whether an assignment that has become durable must still be sent. During its commit the execution may have been
 * cancelled or its worker lost, and an attempt that was given up before it was sent must not start afterwards.
 */
export function isStillWanted(state: Pick<MachineState, "entries">, assign: Assignment): boolean {
  const entry = state.entries.get(assign.executionId);
  return entry?.place === "ASSIGNED" && entry.row.attempt === assign.attempt;
}

/**
 * Time from which an assignment may be sent. An execution that was assigned shortly before its due time must not start
 * before it.
 */
export function sendableAt(state: Pick<MachineState, "entries">, assign: Assignment): EpochMs {
  return state.entries.get(assign.executionId)?.row.dueAt ?? 0;
}
