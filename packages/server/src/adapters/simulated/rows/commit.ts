import type { ExecutionId, Incarnation } from "../../../domain/ids.ts";
import { invariant } from "../../../domain/invariant.ts";
import { unstorableChange } from "../../../ports/storable.ts";
import type { RowChange, ShardCommit, ShardOutcome, StepWrite } from "../../../ports/store.ts";
import type { AppliedChange, Committed } from "../history.ts";
import type { StoreData } from "../store-data.ts";
import { commitEvents } from "./commit-events.ts";
import { commitPlans } from "./commit-plans.ts";
import { addCommands, commitRuns } from "./commit-runs.ts";
import { changedRow, type ExecutionRow } from "./execution-row.ts";

/**
 * See Store.commit. The store reports its events when the whole statement is done, because observers see a statement
 * completely or not at all.
 */
export function commit(data: StoreData, by: Incarnation, batch: readonly ShardCommit[]): ShardOutcome[] {
  const commitNumber = data.nextCommitNumber();
  const events = batch.map((asked) => commitShard(data, by, asked, commitNumber));
  for (const event of events) data.tell(event);
  return events.map(({ outcome }) => ({
    ...{ shard: outcome.shard, status: outcome.status, missed: [...outcome.missed] },
    ...{ missedPlans: [...outcome.missedPlans], notCreated: [...outcome.notCreated] },
    ...{ missedRuns: [...outcome.missedRuns], notBorn: [...outcome.notBorn], refused: [...outcome.refused] },
    ...(outcome.added !== undefined && { added: outcome.added }),
  }));
}

function commitShard(data: StoreData, by: Incarnation, asked: ShardCommit, commitNumber: number): Committed {
  const { shard, epoch } = asked;
  const state = data.shard(shard);
  const told = { kind: "COMMITTED", at: data.now(), by, asked } as const;
  if (state.epoch !== epoch) {
    const nothing = { missed: [], missedPlans: [], notCreated: [], missedRuns: [], notBorn: [], refused: [] };
    const unwritten = { applied: [], planned: [], born: [], runs: [], nodes: [], recorded: [], events: [] };
    return { ...told, outcome: { shard, status: "FENCED", ...nothing }, ...unwritten };
  }
  // This check comes first, because it compares with the rows as they were before.
  const unexpected = asked.expected.filter(({ id, attempt }) => !isAsExpected(data, id, attempt));
  const { applied, missed, refused } = change(data, asked, commitNumber);
  const { planned, born, missedPlans, notCreated, refused: uncreated } = commitPlans(data, asked, commitNumber);
  const { runs, nodes, missedRuns, notBorn, refused: unborn } = commitRuns(data, asked, applied, commitNumber);
  state.settle(
    asked.settledJournals,
    asked.changes,
    refused.map(({ id }) => id),
  );
  if (asked.assigned.length > 0) state.addJournal({ epoch, seq: asked.journalSeq }, asked.assigned);
  for (const id of asked.commandsDone) data.commands.done(shard, id);
  // A record and the change of its row are durable together.
  const left = new Set([...missed, ...refused.map(({ id }) => id)]);
  const recorded = asked.steps.filter((step) => !left.has(step.executionId) && write(data, step));
  const allMissed = [...new Set([...missed, ...unexpected.map(({ id }) => id)])];
  const named = { missed: allMissed, missedPlans, notCreated, missedRuns, notBorn };
  const commands = addCommands(data, asked, applied, missedRuns);
  const added = commands.length > 0 && { added: commands };
  const outcome = {
    shard,
    status: "APPLIED" as const,
    ...named,
    ...added,
    refused: [...refused, ...uncreated, ...unborn],
  };
  const events = commitEvents(data, asked, outcome, born, recorded);
  deliver(data, asked, applied, born);
  return { ...told, outcome, applied, planned, born, runs, nodes, recorded, events };
}

/** Keeps the deliveries of executions that were changed, or created as SKIPPED. */
function deliver(
  data: StoreData,
  { shard, deliveries = [] }: ShardCommit,
  applied: readonly AppliedChange[],
  born: readonly ExecutionRow[],
): void {
  if (deliveries.length === 0) return;
  const skipped = born.filter(({ state }) => state === "SKIPPED");
  const ended = new Set([...applied.map(({ after }) => after.id), ...skipped.map(({ id }) => id)]);
  for (const delivery of deliveries) {
    if (ended.has(delivery.event.executionId)) data.webhooks.add(delivery, shard, data.now());
  }
}

/** Writes a record that counts, and marks the signal that it consumes. @returns whether it counts */
function write(data: StoreData, step: StepWrite): boolean {
  const { executionId, name, signalId } = step;
  if (!data.steps.write(step)) return false;
  if (signalId !== undefined) data.signals.take(executionId, signalId, name);
  return true;
}

function isAsExpected(data: StoreData, id: ExecutionId, attempt: number): boolean {
  const row = data.executions.get(id);
  return row?.state === "PENDING" && row.attempt === attempt && row.queue !== "PARKED";
}

function change(data: StoreData, asked: ShardCommit, commitNumber: number) {
  const applied: AppliedChange[] = [];
  const missed: ExecutionId[] = [];
  const refused: ShardOutcome["refused"] = [];
  for (const change of asked.changes) {
    const message = unstorableChange(change) ?? data.refuses(change);
    const done = message === null ? changeRow(data, asked, change, commitNumber) : null;
    if (message !== null) refused.push({ id: change.id, message });
    else if (done === null) missed.push(change.id);
    else applied.push(done);
  }
  return { applied, missed, refused };
}

/** @returns the changed row; null: the row is not as the change expects */
function changeRow(
  data: StoreData,
  { shard }: ShardCommit,
  change: RowChange,
  commitNumber: number,
): AppliedChange | null {
  const before = data.executions.get(change.id);
  if (before === undefined) return null;
  invariant(before.commitNumber !== commitNumber, "a commit has at most one change an execution");
  invariant(before.job.shard === shard, "an execution is changed in its own shard");
  if (before.state !== change.wasState || before.attempt !== change.wasAttempt) return null;
  const payload = (version: number) => data.jobs.get(before.job.jobId)?.payloads[version - 1] ?? null;
  const after = changedRow(before, change, payload, data.now(), commitNumber);
  data.executions.replace(before, after);
  if (change.releaseUniqueKey) data.uniqueKeys.release(change.id);
  return { before, after };
}
