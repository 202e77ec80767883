import type { Epoch, ExecutionId, ShardId } from "../domain/ids.ts";
import type { Refused } from "../engine/attempts/bury.ts";
import type { Batch } from "../engine/batch.ts";
import type { Input } from "../engine/inputs.ts";
import type { TakeoverCause } from "../ports/metrics.ts";
import type { ShardCommit, ShardOutcome } from "../ports/store.ts";

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
      plans: [...draft.plans.values()],
      commandsDone: draft.commandsDone,
    });
  }
  return commits;
}

/** Meaning of the store's answer for the owner. */
export type Verdict =
  | {
      kind: "APPLIED";
      /** Nothing of these shards was written: another owns them. */
      fenced: ShardId[];
      missed: ExecutionId[];
      refused: Refused[];
      /** Outcomes of the plans' instants. */
      born: Born;
    }
  /** The machine and the store disagree: only a new takeover can tell what is true. */
  | { kind: "DROP"; cause: TakeoverCause; reason: string };

type Born = Omit<Extract<Input, { kind: "BORN" }>, "kind">;
type Mutable<T> = { [K in keyof T]: T[K] extends readonly (infer U)[] ? U[] : T[K] };

export function judge(batch: Batch, outcomes: readonly ShardOutcome[]): Verdict {
  const fenced: ShardId[] = [];
  const missed: ExecutionId[] = [];
  const refused: Refused[] = [];
  const born: Mutable<Born> = { rows: [], notBorn: [], missedPlans: [] };
  for (const outcome of outcomes) {
    if (outcome.status === "FENCED") {
      fenced.push(outcome.shard);
      continue;
    }
    for (const id of outcome.missed) {
      if (!batch.unverified.has(id)) return dropped("ROW_CHANGED", `the row of ${id} is not as it was`);
      missed.push(id);
    }
    sortBirths(batch, outcome, born);
    for (const { id, message } of outcome.refused) {
      const change = batch.shards.get(outcome.shard)?.changes.get(id);
      if (change?.queue !== "NONE") return dropped("ROW_REFUSED", `the row of ${id} was refused: ${message}`);
      refused.push({ change, shard: outcome.shard, message });
    }
  }
  return { kind: "APPLIED", fenced, missed, refused, born };
}

function sortBirths(batch: Batch, { shard, notBorn, missedPlans }: ShardOutcome, born: Mutable<Born>): void {
  const [without, missed] = [new Set(notBorn), new Set(missedPlans)];
  for (const { jobId, births } of batch.shards.get(shard)?.plans.values() ?? []) {
    const rows = births.map(({ row }) => row);
    if (missed.has(jobId)) born.missedPlans.push({ shard, jobId, births: rows });
    else for (const row of rows) (without.has(row.id) ? born.notBorn : born.rows).push(row);
  }
}

function dropped(cause: TakeoverCause, reason: string): Verdict {
  return { kind: "DROP", cause, reason };
}
