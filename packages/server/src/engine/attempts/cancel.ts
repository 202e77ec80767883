import type { CommandOutcome } from "../../ports/messages.ts";
import type { CancelCommand } from "../../ports/store-commands.ts";
import { type Entry, isCancelled } from "../entry.ts";
import { finishEntry } from "../rows.ts";
import { type Step, setTimer } from "../state.ts";

/** Extra time in ms for the CANCEL message and its answer to travel before the end is forced. */
const TRAVEL_MS = 1_000;

/**
 * Cancels an execution. If a worker has it, the command stays open until the execution is final, so that a next owner
 * repeats it.
 */
export function cancel(step: Step, entry: Entry, command: CancelCommand): CommandOutcome {
  const isFirst = !isCancelled(entry);
  entry.cancels.push(command.id);
  if (entry.place !== "ASSIGNED") {
    finishEntry(step, entry, "CANCELLED", { reason: command.reason ?? null });
    return "CANCELLED";
  }
  // The worker of an attempt that was taken over is not found yet. It is told to stop when it is back; until then the
  // attempt's timer is the time that the worker has to come back.
  if (isFirst && entry.assigned?.soughtSince === null) orderStop(step, entry, "REQUESTED");
  // The worker may still be connected to the same gateway, so the order may reach it.
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
