import { laneHash } from "../../domain/lane.ts";
import { rankOf } from "../../domain/rank.ts";
import type { ReplaceCommand } from "../../ports/store-commands.ts";
import type { Entry } from "../entry.ts";
import { enter } from "../queue/intake.ts";
import { leavePlace, writeRow } from "../rows.ts";
import { poolOf, type Step } from "../state.ts";

/**
 * Gives an execution that no worker has the new definition of its job, as if it had been submitted with it.
 *
 * The execution gets a new attempt number, because late hints and their payloads describe the former definition: they
 * name an older attempt and are refused.
 * @returns false: a worker has the execution, which keeps its definition
 */
export function replaceWaiting(step: Step, entry: Entry, command: ReplaceCommand): boolean {
  // A workflow run that has begun keeps its graph, as an execution keeps its definition.
  if (entry.place === "ASSIGNED" || entry.row.queue === "OPEN") return false;
  const { row } = entry;
  // Commands about a job may arrive in any order; the newest version counts.
  if (row.jobVersion >= command.version) return true;
  leavePlace(step, entry);
  redefine(step, entry, command);
  const { definition, payloadBytes, version } = command;
  const replacement = { jobVersion: version, definition, laneHash: laneHash(row), payloadBytes };
  writeRow(step, entry, { state: "PENDING", queue: row.dueAt > step.now ? "WAITING" : "READY", replacement });
  enter(step, entry);
  return true;
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
