import type { ExecutionId, ShardId } from "../../../domain/ids.ts";
import type { RowChange, ShardCommit } from "../../../ports/store.ts";
import type { Birth } from "../../../ports/store-recurrences.ts";
import { bisected } from "../connection/bisect.ts";

/** A change or a birth that the store cannot hold, and what it said. */
export interface Culprit {
  shard: ShardId;
  id: ExecutionId;
  part: RowChange | Birth;
  message: string;
}

interface Part {
  shard: ShardId;
  part: RowChange | Birth;
}

/**
 * Finds what a batch was refused for.
 * @param tryOut runs a batch and takes it back
 */
export async function findCulprits(
  batch: readonly ShardCommit[],
  tryOut: (batch: readonly ShardCommit[]) => Promise<void>,
): Promise<Culprit[]> {
  const parts = batch.flatMap(({ shard, changes, plans }): Part[] => {
    const births = plans.flatMap((plan) => plan.births);
    return [...changes, ...births].map((part) => ({ shard, part }));
  });
  const found = await bisected<Part, Culprit | null>(
    parts,
    async (some) => {
      const chosen = new Set(some.map(({ part }) => part));
      await tryOut(batch.map((commit) => only(commit, chosen)));
      return some.map(() => null);
    },
    ({ shard, part }, { message }) => ({ shard, part, id: "row" in part ? part.row.id : part.id, message }),
  );
  return found.filter((culprit) => culprit !== null);
}

function only(commit: ShardCommit, chosen: ReadonlySet<RowChange | Birth>): ShardCommit {
  const changes = commit.changes.filter((change) => chosen.has(change));
  const plans = commit.plans
    .map((plan) => ({ ...plan, skips: [], births: plan.births.filter((birth) => chosen.has(birth)) }))
    .filter(({ births }) => births.length > 0);
  return { ...commit, changes, plans, assigned: [], settledJournals: [], expected: [], commandsDone: [] };
}

/**
 * The commit without its culprits. Journals stay open where a row could not be written: they may be all that knows of its
 * attempt. A plan moves on without those that could not be born.
 */
export function without(commit: ShardCommit, culprits: readonly Culprit[]): ShardCommit {
  const own = new Set(culprits.filter(({ shard }) => shard === commit.shard).map(({ part }) => part));
  if (own.size === 0) return commit;
  const changes = commit.changes.filter((change) => !own.has(change));
  const plans = commit.plans.map((plan) => ({ ...plan, births: plan.births.filter((birth) => !own.has(birth)) }));
  const settledJournals = changes.length < commit.changes.length ? [] : commit.settledJournals;
  return { ...commit, changes, plans, settledJournals };
}
