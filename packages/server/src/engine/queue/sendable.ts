import type { EpochMs } from "../../domain/ids.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { MachineState } from "../state.ts";

/**
 * Whether an assignment that has become durable is still to be sent. While its commit was under way the execution may
 * have been cancelled, or its worker lost: what was given up before it left must not begin after.
 */
export function isStillWanted(state: Pick<MachineState, "entries">, assign: Assignment): boolean {
  const entry = state.entries.get(assign.executionId);
  return entry?.place === "ASSIGNED" && entry.row.attempt === assign.attempt;
}

/** When what is still wanted may be sent: what is assigned shortly before its time must not begin before it. */
export function sendableAt(state: Pick<MachineState, "entries">, assign: Assignment): EpochMs {
  return state.entries.get(assign.executionId)?.row.dueAt ?? 0;
}
