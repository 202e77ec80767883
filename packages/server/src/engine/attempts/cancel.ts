import type { CommandOutcome } from "../../ports/messages.ts";
import type { CancelCommand } from "../../ports/store.ts";
import { type Entry, isCancelled } from "../entry.ts";
import { finishEntry } from "../rows.ts";
import { type Step, setTimer } from "../state.ts";

/** Extra time for the order and its answer to travel before the end is forced. */
const TRAVEL_MS = 1_000;

/** The command stays open until the execution is final, so that a next owner repeats it. */
export function cancel(step: Step, entry: Entry, command: CancelCommand): CommandOutcome {
  const isFirst = !isCancelled(entry);
  entry.cancels.push(command.id);
  if (entry.place !== "ASSIGNED") {
    finishEntry(step, entry, "CANCELLED", {});
    return "CANCELLED";
  }
  // No node knows yet where an attempt is that was taken over: its worker is told when it is back, and until then
  // the time that it may take to come back is what counts.
  if (isFirst && entry.assigned?.soughtSince === null) orderStop(step, entry, "REQUESTED");
  // The worker may still be where it was.
  else if (isFirst) tellStop(step, entry, "REQUESTED");
  return "REQUESTED";
}

/** Tells the worker to stop. The command stays open until the attempt has ended, so that a next owner repeats it. */
export function orderStop(step: Step, entry: Entry, reason: "REQUESTED" | "TIMED_OUT"): void {
  const { assigned, row } = entry;
  if (assigned === null) return;
  assigned.stopping = reason;
  setTimer(step.state, entry, step.now + row.policy.cancelGraceMs + TRAVEL_MS);
  sendStop(step, entry);
}

export function sendStop(step: Step, entry: Entry): void {
  const reason = entry.assigned?.stopping ?? null;
  if (reason !== null) tellStop(step, entry, reason);
}

function tellStop(step: Step, entry: Entry, reason: "REQUESTED" | "TIMED_OUT"): void {
  const { assigned, row } = entry;
  if (assigned === null) return;
  const token = { shard: row.shard, executionId: entry.id, attempt: row.attempt };
  const { workerId } = assigned;
  step.batch.toGateway.push({
    node: assigned.gateway,
    message: { kind: "CANCEL", workerId, token, reason, graceMs: row.policy.cancelGraceMs },
  });
}
