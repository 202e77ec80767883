import type { Candidate } from "../domain/execution.ts";
import type { Epoch, ExecutionId, ShardId } from "../domain/ids.ts";
import type { Refused } from "../engine/attempts/dead-letter-refused.ts";
import type { Batch } from "../engine/batch.ts";
import type { Input } from "../engine/inputs.ts";
import type { TakeoverCause } from "../ports/metrics.ts";
import type { ShardCommit, ShardOutcome } from "../ports/store.ts";
import type { Command } from "../ports/store-commands.ts";

/** Converts a batch to the store's format. */
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
      commands: [...draft.commands.values()],
      steps: [...draft.steps.values()],
      runs: [...draft.runs.values()],
      births: draft.births,
      ...(draft.deliveries !== null && { deliveries: draft.deliveries }),
      ...((draft.events ?? draft.inbox) !== null && {
        told: { seq: batch.number, events: draft.events ?? [], inbox: draft.inbox ?? [] },
      }),
    });
  }
  return commits;
}

/** Executions of a batch that wait for their time. */
export function laterRows(batch: Batch): Pick<Candidate, "id" | "shard" | "dueAt">[] {
  return [...batch.shards.values()].flatMap(({ shard, changes, births }) => [
    ...[...changes.values()].flatMap(({ id, queue, dueAt }) => (queue === "WAITING" ? [{ id, shard, dueAt }] : [])),
    ...births.flatMap(({ row }) => (row.queue === "WAITING" ? [row] : [])),
  ]);
}

/** Meaning of the store's answer for the owner, apart from fenced shards, of which the store wrote nothing. */
export type Verdict =
  | Applied
  /** The machine and the store disagree, and only a new takeover can show which is right. */
  | { kind: "DROP"; cause: TakeoverCause; reason: string };

export interface Applied {
  kind: "APPLIED";
  missed: ExecutionId[];
  refused: Refused[];
  /** Executions that the batch's plans have created or failed to create. */
  created: CreatedRows;
  /** Commands that the store has added, for the owners of their shards. */
  added: Command[];
}

type CreatedRows = Omit<Extract<Input, { kind: "CREATED" }>, "kind" | "batch">;
type Mutable<T> = { [K in keyof T]: T[K] extends readonly (infer U)[] ? U[] : T[K] };

export function judge(batch: Batch, outcomes: readonly ShardOutcome[]): Verdict {
  const missed: ExecutionId[] = [];
  const refused: Refused[] = [];
  const added: Command[] = [];
  const created: Mutable<CreatedRows> = {
    rows: [],
    notCreated: [],
    missedPlans: [],
    nodes: { created: [], notCreated: [] },
    missedRuns: [],
  };
  for (const outcome of outcomes) {
    if (outcome.status === "FENCED") continue;
    for (const id of outcome.missed) {
      if (!batch.unverified.has(id)) return dropped("ROW_CHANGED", `the row of ${id} is not as it was`);
      missed.push(id);
      const run = batch.nodeEnds.get(id);
      if (run !== undefined) created.missedRuns.push(run);
    }
    added.push(...(outcome.added ?? []));
    sortCreated(batch, outcome, created);
    sortNodes(batch, outcome, created);
    for (const { id, message } of outcome.refused) {
      const change = batch.shards.get(outcome.shard)?.changes.get(id);
      if (change?.queue !== "NONE") return dropped("ROW_REFUSED", `the row of ${id} was refused: ${message}`);
      refused.push({ change, shard: outcome.shard, message });
    }
  }
  return { kind: "APPLIED", missed, refused, created, added };
}

function sortCreated(batch: Batch, { shard, notCreated, missedPlans }: ShardOutcome, into: Mutable<CreatedRows>): void {
  const [without, missed] = [new Set(notCreated), new Set(missedPlans)];
  for (const { jobId, created } of batch.shards.get(shard)?.plans.values() ?? []) {
    const rows = created.map(({ row }) => row);
    if (missed.has(jobId)) into.missedPlans.push({ shard, jobId, created: rows });
    else for (const row of rows) (without.has(row.id) ? into.notCreated : into.rows).push(row);
  }
}

function sortNodes(batch: Batch, outcome: ShardOutcome, into: Mutable<CreatedRows>): void {
  into.missedRuns.push(...outcome.missedRuns);
  const without = new Set([...outcome.notBorn, ...outcome.refused.map(({ id }) => id)]);
  const [created, notCreated]: [Candidate[], Candidate[]] = [[], []];
  for (const { row } of batch.shards.get(outcome.shard)?.births ?? []) {
    (without.has(row.id) ? notCreated : created).push(row);
  }
  into.nodes = {
    created: [...into.nodes.created, ...created],
    notCreated: [...into.nodes.notCreated, ...notCreated],
  };
}

function dropped(cause: TakeoverCause, reason: string): Verdict {
  return { kind: "DROP", cause, reason };
}
