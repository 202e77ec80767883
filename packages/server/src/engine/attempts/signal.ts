import { rankOf } from "../../domain/rank.ts";
import type { SignalCommand } from "../../ports/store-commands.ts";
import type { Entry } from "../entry.ts";
import { answer, commandDone } from "../jobs/answers.ts";
import { leavePlace, writeRow } from "../rows.ts";
import { poolOf, type Step } from "../state.ts";
import { giveOwnRow } from "./attempts.ts";

/**
 * Takes note of a signal, which is in the store. A suspended execution that waits for signals runs again at once. An
 * attempt may suspend without having seen the signal, so the command stays open until the attempt ends. Each execution
 * that gets signals has a mark from then on, so that its attempts get them.
 *
 * An entry that is NEW afterwards needs a place.
 */
export function signal(step: Step, entry: Entry, command: SignalCommand): void {
  const { row } = entry;
  if (entry.place === "ASSIGNED") {
    entry.signals.push(command.id);
    if (row.steps === undefined) {
      row.steps = "RECORDED";
      giveOwnRow(step, entry, true);
    }
    return answer(step, command, "SIGNALLED");
  }
  if (row.steps === "AWAITING" && row.dueAt > step.now) resume(step, entry);
  else if (row.steps === undefined) mark(step, entry);
  commandDone(step, command, "SIGNALLED");
}

/** Makes a suspended execution due now. */
function resume(step: Step, entry: Entry): void {
  const { row } = entry;
  leavePlace(step, entry);
  row.dueAt = step.now;
  row.rank = rankOf(poolOf(step.state, row.pool), row.dueAt, row.priority);
  writeRow(step, entry, { state: "PENDING", queue: row.queue === "PARKED" ? "PARKED" : "READY" });
}

function mark(step: Step, entry: Entry): void {
  const { row } = entry;
  row.steps = "RECORDED";
  const isBackoff = row.failures > 0 && row.dueAt > step.now;
  writeRow(step, entry, { state: "PENDING", queue: row.queue, reason: isBackoff ? "BACKOFF" : null });
}
