import type { Epoch, ExecutionId, ShardId } from "../domain/ids.ts";
import type { TakeoverCause } from "../ports/metrics.ts";
import type { RowChange, ShardCommit, ShardOutcome } from "../ports/store.ts";
import type { Batch } from "../shard/batch.ts";

/** A batch in the store's words. */
export function shardCommits(batch: Batch, epochs: ReadonlyMap<ShardId, Epoch>): ShardCommit[] {
  const commits: ShardCommit[] = [];
  for (const draft of batch.shards.values()) {
    commits.push({
      shard: draft.shard,
      epoch: epochs.get(draft.shard) ?? 0,
      changes: [...draft.changes.values()],
      assigned: draft.assigned,
      journalSeq: draft.box?.seq ?? 0,
      settledJournals: draft.settledJournals,
      expected: draft.expected,
      commandsDone: draft.commandsDone,
    });
  }
  return commits;
}

/** What the store's answer means for the owner. */
export type Verdict =
  | {
      kind: "APPLIED";
      /** Nothing of these shards was written: another owns them. */
      fenced: ShardId[];
      missed: ExecutionId[];
      refused: { change: RowChange; shard: ShardId; message: string }[];
    }
  /** The machine and the store disagree: only a new takeover can tell what is true. */
  | { kind: "DROP"; cause: TakeoverCause; reason: string };

export function judge(batch: Batch, outcomes: readonly ShardOutcome[]): Verdict {
  const fenced: ShardId[] = [];
  const missed: ExecutionId[] = [];
  const refused: { change: RowChange; shard: ShardId; message: string }[] = [];
  for (const outcome of outcomes) {
    if (outcome.status === "FENCED") {
      fenced.push(outcome.shard);
      continue;
    }
    for (const id of outcome.missed) {
      if (!batch.unverified.has(id)) return dropped("ROW_CHANGED", `the row of ${id} is not as it was`);
      missed.push(id);
    }
    for (const { id, message } of outcome.refused) {
      const change = batch.shards.get(outcome.shard)?.changes.get(id);
      if (change?.queue !== "NONE") return dropped("ROW_REFUSED", `the row of ${id} was refused: ${message}`);
      refused.push({ change, shard: outcome.shard, message });
    }
  }
  return { kind: "APPLIED", fenced, missed, refused };
}

function dropped(cause: TakeoverCause, reason: string): Verdict {
  return { kind: "DROP", cause, reason };
}

/** What is written instead of a final change that the store refuses for its data. */
export function buried(change: RowChange, message: string): RowChange {
  return {
    ...change,
    state: "DEAD",
    reason: "RESULT_REFUSED",
    result: null,
    error: { name: "ResultRefused", message: `the store refused the result: ${message}`.slice(0, 1_000) },
    ended: change.ended.map((ended) => ({ ...ended, error: null })),
  };
}
