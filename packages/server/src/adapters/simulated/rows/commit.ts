import {
  type ExecutionId,
  type Incarnation,
  invariant,
  type RowChange,
  type ShardCommit,
  type ShardOutcome,
} from "@mainspring/server/testing";
import { commitPlans } from "./commit-plans.ts";
import { changedRow } from "./execution-row.ts";
import type { AppliedChange, Committed } from "./history.ts";
import { unstorableChange } from "./storable.ts";
import type { StoreData } from "./store-data.ts";

/**
 * See Store.commit. The store reports its events when all of a statement is done: a statement is seen as a whole or not
 * at all.
 */
export function commit(data: StoreData, by: Incarnation, batch: readonly ShardCommit[]): ShardOutcome[] {
  const commitNumber = data.nextCommitNumber();
  const events = batch.map((asked) => commitShard(data, by, asked, commitNumber));
  for (const event of events) data.tell(event);
  return events.map(({ outcome: { shard, status, missed, missedPlans, notBorn, refused } }) => ({
    shard,
    status,
    missed: [...missed],
    missedPlans: [...missedPlans],
    notBorn: [...notBorn],
    refused: [...refused],
  }));
}

function commitShard(data: StoreData, by: Incarnation, asked: ShardCommit, commitNumber: number): Committed {
  const { shard, epoch } = asked;
  const state = data.shard(shard);
  const told = { kind: "COMMITTED", at: data.now(), by, asked } as const;
  if (state.epoch !== epoch) {
    const nothing = { missed: [], missedPlans: [], notBorn: [], refused: [] };
    return { ...told, outcome: { shard, status: "FENCED", ...nothing }, applied: [], planned: [], born: [] };
  }
  // First, because what is expected is expected of the rows as they were.
  const unexpected = asked.expected.filter(({ id, attempt }) => !isAsExpected(data, id, attempt));
  const { applied, missed, refused } = change(data, asked, commitNumber);
  const { planned, born, missedPlans, notBorn, refused: unborn } = commitPlans(data, asked, commitNumber);
  state.settle(
    asked.settledJournals,
    asked.changes,
    refused.map(({ id }) => id),
  );
  if (asked.assigned.length > 0) state.addJournal({ epoch, seq: asked.journalSeq }, asked.assigned);
  for (const id of asked.commandsDone) data.commands.done(shard, id);
  const allMissed = [...new Set([...missed, ...unexpected.map(({ id }) => id)])];
  const named = { missed: allMissed, missedPlans, notBorn, refused: [...refused, ...unborn] };
  return { ...told, outcome: { shard, status: "APPLIED", ...named }, applied, planned, born };
}

function isAsExpected(data: StoreData, id: ExecutionId, attempt: number): boolean {
  const row = data.executions.get(id);
  return row?.state === "PENDING" && row.attempt === attempt;
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

/** @returns null: the row is not what the change expects */
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
