import { laneHash } from "../../domain/lane.ts";
import { rankOf } from "../../domain/rank.ts";
import type { ReplaceCommand } from "../../ports/store.ts";
import type { Entry } from "../entry.ts";
import { enter } from "../queue/intake.ts";
import { writeRow } from "../rows.ts";
import { clearTimer, poolOf, type Step } from "../state.ts";

/**
 * Lets an execution that no worker has run by the new definition of its job, as if it had been submitted with it.
 *
 * It takes a number of its own among the attempts: whatever still speaks of the execution as it was (a late hint, a payload that
 * came with one) speaks of an older attempt and is refused as such.
 * @returns false: a worker has it, and it keeps what it started with
 */
export function replaceWaiting(step: Step, entry: Entry, command: ReplaceCommand): boolean {
  if (entry.place === "ASSIGNED") return false;
  const { row } = entry;
  // Changes of a job may be heard of in any order; the newest one counts.
  if (row.jobVersion >= command.version) return true;
  leavePlace(step, entry);
  redefine(step, entry, command);
  const { definition, payloadBytes, version } = command;
  const replacement = { jobVersion: version, definition, laneHash: laneHash(row), payloadBytes };
  writeRow(step, entry, { state: "PENDING", queue: row.dueAt > step.now ? "WAITING" : "READY", replacement });
  enter(step, entry);
  return true;
}

function leavePlace(step: Step, entry: Entry): void {
  const { lanes } = step.state;
  clearTimer(step.state, entry);
  if (entry.place === "LANE") lanes.remove(entry);
  if (entry.lane !== null) lanes.prune(entry.lane);
  entry.lane = null;
  entry.place = "NEW";
}

function redefine(step: Step, { row }: Entry, { definition, payloadBytes, version }: ReplaceCommand): void {
  const { pool, handler, requires, priority, policy, concurrencyLimit, scheduledAt } = definition;
  Object.assign(row, { pool, handler, requires, priority, policy, concurrencyLimit, scheduledAt, payloadBytes });
  row.jobVersion = version;
  row.dueAt = scheduledAt;
  row.rank = rankOf(poolOf(step.state, pool), scheduledAt, priority);
  row.attempt++;
  // Failures under the former definition do not count against the new one's budgets.
  row.failures = 0;
  row.lost = 0;
  row.startedAt = null;
}
