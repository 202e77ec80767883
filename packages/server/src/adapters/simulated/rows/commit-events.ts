import type { LifecycleEvent } from "../../../domain/lifecycle-event.ts";
import type { ShardCommit, ShardOutcome, StepWrite } from "../../../ports/store.ts";
import { asWritten, stepKey } from "../../../ports/told-events.ts";
import type { StoreData } from "../store-data.ts";
import type { ExecutionRow } from "./execution-row.ts";

/**
 * Keeps the events of what a commit has written, and those that it takes out of the inbox.
 * @param born executions of planned instants that are new
 * @param recorded records that the commit has written
 * @returns the kept events
 */
export function commitEvents(
  data: StoreData,
  { shard, epoch, told, plans, steps }: ShardCommit,
  outcome: ShardOutcome,
  born: readonly ExecutionRow[],
  recorded: readonly StepWrite[],
): readonly LifecycleEvent[] {
  if (told === undefined) return [];
  const held = new Set(born.filter(({ state }) => state === "SKIPPED").map(({ id }) => id));
  const ofMissedPlans = plans.filter(({ jobId }) => outcome.missedPlans.includes(jobId));
  const missed = new Set([
    ...[...outcome.missed, ...outcome.missedPlans, ...outcome.notCreated, ...outcome.notBorn],
    ...outcome.refused.map(({ id }) => id),
    ...ofMissedPlans.flatMap(({ created }) => created.map(({ row }) => row.id)),
  ]);
  const written = new Set(recorded);
  const repeated = steps.filter((step) => !written.has(step));
  const unrecorded = new Set(repeated.map(({ executionId, name }) => stepKey(executionId, name)));
  const own = told.events.flatMap((event) => asWritten(event, { missed, held, unrecorded }));
  const moved = data.events.take(shard, told.inbox).flatMap(({ events }) => events);
  const events = [...own, ...moved];
  if (events.length > 0) data.events.keep({ shard, epoch, seq: told.seq, events }, data.now());
  return events;
}
