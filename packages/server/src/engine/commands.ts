import type { CommandOutcome } from "../ports/messages.ts";
import type { CancelCommand, Command, JobCommand, SignalCommand } from "../ports/store-commands.ts";
import { cancel } from "./attempts/cancel.ts";
import { signal } from "./attempts/signal.ts";
import type { Entry } from "./entry.ts";
import type { ReadResult } from "./inputs.ts";
import { answer, commandDone } from "./jobs/answers.ts";
import { replaceWaiting } from "./jobs/replace.ts";
import { enter } from "./queue/intake.ts";
import { type Rows, settledEntry } from "./queue/loaded.ts";
import { endSuperseded } from "./recurring/cancel-previous.ts";
import { queuePlanCommand } from "./recurring/intake.ts";
import { finishEntry, forget } from "./rows.ts";
import { cancelRun, orderRun, reload } from "./runs/advance.ts";
import { endNode } from "./runs/cancel-nodes.ts";
import { keyedNodeEnded } from "./runs/keyed-nodes.ts";
import { nodeParked } from "./runs/pause.ts";
import type { NodeSignal } from "./runs/runs.ts";
import { signalNode } from "./runs/signal-node.ts";
import type { Step } from "./state.ts";

/** Applies new commands whose executions are known in memory, and asks for the rows that the other commands need. */
export function applyCommands(step: Step, commands: readonly Command[]): void {
  const missing: string[] = [];
  for (const command of commands) {
    const { state } = step;
    if (!state.epochs.has(command.shard) || state.openCommands.has(command.id)) continue;
    // The read began before the commit that completed this command, so the command is done already.
    if (state.recentWrites.hides(command.id, 0)) continue;
    state.openCommands.add(command.id);
    take(step, command, missing);
  }
  if (missing.length > 0) step.wants.push({ kind: "LOAD", ids: [...new Set(missing)] });
}

/** @param missing gets the executions whose rows the command needs */
function take(step: Step, command: Command, missing: string[]): void {
  switch (command.kind) {
    case "CANCEL":
    case "SIGNAL":
      return applyToKnown(step, command, missing);
    case "NODE_ENDED":
      return keyedNodeEnded(step, command);
    case "PLAN":
      return queuePlanCommand(step, command);
    case "PAUSE_RUN":
    case "RESUME_RUN":
      return orderRun(step, command);
    case "REPLACE":
    case "DELETE":
      // The owner also reads executions that are in memory, because a hint may be stale, and a change of a job must not
      // be applied to only some of its executions.
      step.state.jobCommands.set(command.id, command);
      missing.push(...command.executionIds);
  }
}

type OneCommand = CancelCommand | SignalCommand;

function applyToKnown(step: Step, command: OneCommand, missing: string[]): void {
  const { entries, loading } = step.state;
  const entry = entries.get(command.executionId);
  const waiting = loading.get(command.executionId);
  if (command.kind === "SIGNAL" && command.ofNode?.isKeyed) return void signalNode(step, command as NodeSignal);
  // A hint may be stale: an execution that is known only from a hint may have ended long ago, and must not be reported
  // as cancelled.
  const isKnown = entry !== undefined && (!entry.unverified || entry.place === "ASSIGNED");
  if (isKnown) applyToOne(step, [command], entry);
  else if (waiting !== undefined) waiting.push(command);
  else {
    loading.set(command.executionId, [command]);
    missing.push(command.executionId);
  }
}

/** Applies commands about one execution, and gives it a place. */
function applyToOne(step: Step, commands: readonly OneCommand[], entry: Entry): void {
  if (entry.row.queue === "OPEN") return applyToRun(step, commands, entry);
  for (const command of commands) {
    if (entry.place === "GONE") commandDone(step, command, "FINAL");
    else if (command.kind === "CANCEL") answer(step, command, cancel(step, entry, command));
    else signal(step, entry, command);
  }
  if (entry.place === "NEW") enter(step, entry);
}

/** Applies commands about a workflow run, which has no place among the executions. No signal goes to a run. */
function applyToRun(step: Step, commands: readonly OneCommand[], entry: Entry): void {
  forget(step, entry);
  for (const command of commands) {
    if (command.kind === "CANCEL") cancelRun(step, entry.id, command);
    else commandDone(step, command, "FINAL");
  }
}

/** Applies the commands that waited for these rows. An execution whose row is missing is final. */
export function applyLoaded(step: Step, read: Extract<ReadResult, { kind: "LOADED" }>): void {
  const rows: Rows = { ...read, byId: new Map(read.rows.map((row) => [row.id, row])) };
  const again = new Set<string>();
  for (const id of read.asked) {
    applyWaiting(step, id, rows, again);
    supersedeLoaded(step, id, rows, again);
    endLoaded(step, id, rows, again);
    holdFetched(step, id, rows, again);
  }
  const asked = new Set(read.asked);
  for (const command of [...step.state.jobCommands.values()]) {
    if (command.executionIds.every((id) => asked.has(id))) applyToLoaded(step, command, rows, again);
  }
  if (again.size > 0) step.wants.push({ kind: "LOAD", ids: [...again] });
}

function applyWaiting(step: Step, id: string, rows: Rows, again: Set<string>): void {
  const { loading } = step.state;
  const commands = loading.get(id);
  if (commands === undefined) return;
  const entry = settledEntry(step, id, rows);
  if (entry === "UNSETTLED") return void again.add(id);
  loading.delete(id);
  if (entry !== null) return applyToOne(step, commands, entry);
  const open = commands.filter((command) => isToReread(step, command));
  if (open.length === 0) return;
  loading.set(id, open);
  again.add(id);
}

/** Applies a command about an execution without an open row. @returns whether the execution must be read again */
function isToReread(step: Step, command: OneCommand): boolean {
  if (command.kind === "SIGNAL" && command.ofNode !== undefined)
    return signalNode(step, { ...command, ofNode: command.ofNode }) === "LOAD";
  commandDone(step, command, "FINAL");
  return false;
}

function supersedeLoaded(step: Step, id: string, rows: Rows, again: Set<string>): void {
  const { plans } = step.state;
  if (!plans.superseding.has(id)) return;
  const entry = settledEntry(step, id, rows);
  if (entry === "UNSETTLED") return void again.add(id);
  plans.superseding.delete(id);
  if (entry !== null) endSuperseded(step, entry);
}

/** Ends a node that was read because its run asks for its end. */
function endLoaded(step: Step, id: string, rows: Rows, again: Set<string>): void {
  const { runs } = step.state;
  const ending = runs.ending.get(id);
  if (ending === undefined) return;
  const entry = settledEntry(step, id, rows);
  if (entry === "UNSETTLED") return void again.add(id);
  runs.ending.delete(id);
  const run = runs.byId.get(ending.run);
  if (entry === null) reload(step.state, step.batch, ending.run);
  else if (run !== undefined) endNode(step, entry, run);
  if (entry?.place === "NEW") enter(step, entry);
}

/** Gives a node its place that was read because its run was paused or resumed. */
function holdFetched(step: Step, id: string, rows: Rows, again: Set<string>): void {
  const { runs } = step.state;
  const fetched = runs.fetching.get(id);
  if (fetched === undefined) return;
  const entry = settledEntry(step, id, rows);
  if (entry === "UNSETTLED") return void again.add(id);
  runs.fetching.delete(id);
  // A sub-workflow goes on while its parent is paused.
  if (entry?.row.queue === "OPEN") forget(step, entry);
  // The node has ended, and the run knows that or must be read again.
  if (entry?.place === "NEW") enter(step, entry);
  const run = runs.byId.get(fetched.run);
  if (run !== undefined) nodeParked(step, run, id);
}

/** Applies the command once the state of all its executions is known, and to all of them together. */
function applyToLoaded(step: Step, command: JobCommand, rows: Rows, again: Set<string>): void {
  const found = command.executionIds.map((id) => settledEntry(step, id, rows));
  const entries = found.filter((entry): entry is Entry => entry !== null && entry !== "UNSETTLED");
  if (found.includes("UNSETTLED")) for (const id of command.executionIds) again.add(id);
  else {
    step.state.jobCommands.delete(command.id);
    commandDone(step, command, applyCommand(step, command, entries, entries.length === found.length));
  }
  // Forgets entries that were read only for this command.
  for (const entry of entries) if (entry.place === "NEW") forget(step, entry);
}

function applyCommand(step: Step, command: JobCommand, entries: readonly Entry[], isAll: boolean): CommandOutcome {
  if (command.kind === "DELETE") {
    for (const entry of entries) deleteWaiting(step, entry);
    return "DELETED";
  }
  const replaced = entries.filter((entry) => replaceWaiting(step, entry, command));
  return isAll && replaced.length === entries.length ? "REPLACED" : "KEPT";
}

/** Ends the execution of a deleted job where no worker has it. */
function deleteWaiting(step: Step, entry: Entry): void {
  if (entry.place !== "ASSIGNED" && entry.row.queue !== "OPEN")
    finishEntry(step, entry, "CANCELLED", { reason: "JOB_DELETED" });
}
