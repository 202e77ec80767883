import type { Assignment } from "../ports/messages.ts";
import { refreshWorker } from "./fleet.ts";
import type { MachineState, Step } from "./state.ts";

/**
 * Whether an assignment that has become durable is still to be sent. While its commit was under way the execution may
 * have been cancelled, or its worker lost: what was given up before it left must not begin after.
 */
export function isStillWanted(state: MachineState, assign: Assignment): boolean {
  const entry = state.entries.get(assign.executionId);
  return entry?.place === "ASSIGNED" && entry.row.attempt === assign.attempt;
}

/** These were not sent after all: the slots are there for others. */
export function takeBack(step: Step, assigns: readonly Assignment[]): void {
  for (const { workerId, gateway } of assigns) {
    const worker = step.state.workers.get(workerId);
    if (worker === undefined || worker.gateway !== gateway) continue;
    worker.used--;
    refreshWorker(step, worker);
  }
}
