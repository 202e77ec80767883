import type { CommandOutcome } from "../ports/messages.ts";
import type { CancelCommand, Command, JobCommand } from "../ports/store.ts";
import { cancel } from "./attempts/cancel.ts";
import type { Entry } from "./entry.ts";
import type { ReadResult } from "./inputs.ts";
import { answer, commandDone } from "./jobs/answers.ts";
import { deleteWaiting } from "./jobs/delete.ts";
import { replaceWaiting } from "./jobs/replace.ts";
import { type Rows, settledEntry } from "./queue/loaded.ts";
import { takePlanCommand } from "./recurring/intake.ts";
import { endSuperseded } from "./recurring/supersede.ts";
import { forget } from "./rows.ts";
import type { Step } from "./state.ts";

/** Commands that are new to the machine: those that it can obey now, and reads for the others. */
export function takeCommands(step: Step, commands: readonly Command[]): void {
  const missing: string[] = [];
  for (const command of commands) {
    const { state } = step;
    if (!state.epochs.has(command.shard) || state.openCommands.has(command.id)) continue;
    // It was read before what was done about it had arrived.
    if (state.touched.hides(command.id, 0)) continue;
    state.openCommands.add(command.id);
    if (command.kind === "CANCEL") takeCancel(step, command, missing);
    else if (command.kind === "PLAN") takePlanCommand(step, command);
    else {
      // The owner reads executions that memory has as well: a hint may be stale, and a job must not be changed by
      // halves.
      state.jobCommands.set(command.id, command);
      missing.push(...command.executionIds);
    }
  }
  if (missing.length > 0) step.wants.push({ kind: "LOAD", ids: [...new Set(missing)] });
}

function takeCancel(step: Step, command: CancelCommand, missing: string[]): void {
  const { entries, loading } = step.state;
  const entry = entries.get(command.executionId);
  const waiting = loading.get(command.executionId);
  // A hint may be stale: what waits only by its word may have ended long ago, and must not be reported as cancelled.
  const isKnown = entry !== undefined && (!entry.unverified || entry.place === "ASSIGNED");
  if (isKnown) answer(step, command, cancel(step, entry, command));
  else if (waiting !== undefined) waiting.push(command);
  else {
    loading.set(command.executionId, [command]);
    missing.push(command.executionId);
  }
}

/** The rows that commands asked for: those that are missing are final. */
export function takeLoaded(step: Step, read: Extract<ReadResult, { kind: "LOADED" }>): void {
  const rows: Rows = { ...read, byId: new Map(read.rows.map((row) => [row.id, row])) };
  const again = new Set<string>();
  for (const id of read.asked) {
    cancelLoaded(step, id, rows, again);
    supersedeLoaded(step, id, rows, again);
  }
  const asked = new Set(read.asked);
  for (const command of [...step.state.jobCommands.values()]) {
    if (command.executionIds.every((id) => asked.has(id))) obeyLoaded(step, command, rows, again);
  }
  if (again.size > 0) step.wants.push({ kind: "LOAD", ids: [...again] });
}

function cancelLoaded(step: Step, id: string, rows: Rows, again: Set<string>): void {
  const { loading } = step.state;
  const commands = loading.get(id);
  if (commands === undefined) return;
  const entry = settledEntry(step, id, rows);
  if (entry === "UNSETTLED") return void again.add(id);
  loading.delete(id);
  for (const command of commands) {
    if (entry === null || entry.place === "GONE") commandDone(step, command, "FINAL");
    else answer(step, command, cancel(step, entry, command));
  }
}

function supersedeLoaded(step: Step, id: string, rows: Rows, again: Set<string>): void {
  const { plans } = step.state;
  if (!plans.superseding.has(id)) return;
  const entry = settledEntry(step, id, rows);
  if (entry === "UNSETTLED") return void again.add(id);
  plans.superseding.delete(id);
  if (entry !== null) endSuperseded(step, entry);
}

/** All executions of the job at once, or none yet. */
function obeyLoaded(step: Step, command: JobCommand, rows: Rows, again: Set<string>): void {
  const found = command.executionIds.map((id) => settledEntry(step, id, rows));
  const entries = found.filter((entry): entry is Entry => entry !== null && entry !== "UNSETTLED");
  if (found.includes("UNSETTLED")) for (const id of command.executionIds) again.add(id);
  else {
    step.state.jobCommands.delete(command.id);
    commandDone(step, command, obey(step, command, entries, entries.length === found.length));
  }
  // Forgets entries that were read only for this command.
  for (const entry of entries) if (entry.place === "NEW") forget(step, entry);
}

function obey(step: Step, command: JobCommand, entries: readonly Entry[], isAll: boolean): CommandOutcome {
  if (command.kind === "DELETE") {
    for (const entry of entries) deleteWaiting(step, entry);
    return "DELETED";
  }
  const replaced = entries.filter((entry) => replaceWaiting(step, entry, command));
  return isAll && replaced.length === entries.length ? "REPLACED" : "KEPT";
}
