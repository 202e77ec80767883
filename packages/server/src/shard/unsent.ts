import type { Assignment } from "../ports/messages.ts";
import { voidCredits } from "./credit.ts";
import type { MachineState, Step } from "./state.ts";

/**
 * Whether an assignment that has become durable is still to be sent. While its commit was under way the execution may
 * have been cancelled, or its worker lost: what was given up before it left must not begin after.
 */
export function isStillWanted(state: MachineState, assign: Assignment): boolean {
  const entry = state.entries.get(assign.executionId);
  return entry?.place === "ASSIGNED" && entry.row.attempt === assign.attempt;
}

/** These were not sent after all: their gateways hear that the slots are free. */
export function takeBack(step: Step, assigns: readonly Assignment[]): void {
  for (const [workerId, group] of Map.groupBy(assigns, (assign) => assign.workerId)) {
    const { gateway, account } = group[0] as Assignment;
    const credits = group.filter((assign) => assign.account === account).map(({ credit }) => credit);
    voidCredits(step, { gateway, workerId, account }, credits);
  }
}
