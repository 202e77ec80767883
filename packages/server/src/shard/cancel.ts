import type { CommandOutcome } from "../ports/messages.ts";
import type { Command } from "../ports/store.ts";
import { type Entry, newEntry } from "./entry.ts";
import type { ReadResult } from "./inputs.ts";
import { isStale } from "./intake.ts";
import { finishEntry } from "./rows.ts";
import { type Step, setTimer } from "./state.ts";

/** Extra time for the order and its answer to travel before the end is forced. */
const TRAVEL_MS = 1_000;

export function takeCommands(step: Step, commands: readonly Command[]): void {
  const missing: string[] = [];
  for (const command of commands) {
    const { state } = step;
    if (!state.epochs.has(command.shard) || state.openCommands.has(command.id)) continue;
    state.openCommands.add(command.id);
    const entry = state.entries.get(command.executionId);
    if (entry !== undefined) cancel(step, entry, command);
    else {
      const waiting = state.loading.get(command.executionId);
      if (waiting !== undefined) waiting.push(command);
      else {
        state.loading.set(command.executionId, [command]);
        missing.push(command.executionId);
      }
    }
  }
  if (missing.length > 0) step.wants.push({ kind: "LOAD", ids: missing });
}

/** The rows that commands asked for: those that are missing are final. */
export function takeLoaded(step: Step, read: Extract<ReadResult, { kind: "LOADED" }>): void {
  const { state } = step;
  const rows = new Map(read.rows.map((row) => [row.id, row]));
  const again: string[] = [];
  for (const id of read.asked) {
    const commands = state.loading.get(id);
    if (commands === undefined) continue;
    const row = rows.get(id);
    if (row !== undefined && !state.entries.has(id) && isStale(step, row, read)) {
      again.push(id);
      continue;
    }
    state.loading.delete(id);
    const entry = state.entries.get(id) ?? (row === undefined ? null : newEntry(row, false));
    if (entry !== null && entry.place === "NEW") state.entries.set(id, entry);
    for (const command of commands) {
      if (entry === null || entry.place === "GONE") commandDone(step, command, "FINAL");
      else cancel(step, entry, command);
    }
  }
  if (again.length > 0) step.wants.push({ kind: "LOAD", ids: again });
}

function cancel(step: Step, entry: Entry, command: Command): void {
  entry.cancels.push(command.id);
  if (entry.place !== "ASSIGNED") {
    finishEntry(step, entry, "CANCELLED", {});
    answer(step, command, "CANCELLED");
    return;
  }
  // Of an attempt that was taken over nobody knows yet where it is: its worker is told when it is back, and until then
  // the time that it may take to come back is what counts.
  if (entry.cancels.length === 1 && entry.assigned?.adopting === false) orderStop(step, entry, "REQUESTED");
  answer(step, command, "REQUESTED");
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
  const { assigned, row } = entry;
  if (assigned?.stopping == null) return;
  const token = { shard: row.shard, executionId: entry.id, attempt: row.attempt };
  const { workerId, stopping: reason } = assigned;
  step.batch.toGateway.push({
    node: assigned.gateway,
    message: { kind: "CANCEL", workerId, token, reason, graceMs: row.policy.cancelGraceMs },
  });
}

function commandDone(step: Step, command: Command, outcome: CommandOutcome): void {
  step.batch.shard(command.shard).commandsDone.push(command.id);
  step.state.openCommands.delete(command.id);
  answer(step, command, outcome);
}

function answer(step: Step, command: Command, outcome: CommandOutcome): void {
  const message = { kind: "COMMAND_DONE", commandId: command.id, outcome } as const;
  step.batch.toApi.push({ shard: command.shard, message });
}
