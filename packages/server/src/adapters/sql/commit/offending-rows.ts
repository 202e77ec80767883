import type { ExecutionId, ShardId } from "../../../domain/ids.ts";
import type { RowChange, ShardCommit } from "../../../ports/store.ts";
import type { CreatedOccurrence } from "../../../ports/store-recurrences.ts";
import type { NodeBirth } from "../../../ports/store-runs.ts";
import { bisected } from "../connection/bisect.ts";

/** A change, or an execution to create: of a recurring job or of a node. */
type AnyPart = RowChange | CreatedOccurrence | NodeBirth;

/** A part that the store refuses, with the error. */
export interface OffendingRow {
  shard: ShardId;
  id: ExecutionId;
  part: AnyPart;
  message: string;
}

interface Part {
  shard: ShardId;
  part: AnyPart;
}

/**
 * Finds the rows for which a batch was refused.
 * @param tryOut runs a batch and rolls it back
 */
export async function findOffendingRows(
  batch: readonly ShardCommit[],
  tryOut: (batch: readonly ShardCommit[]) => Promise<void>,
): Promise<OffendingRow[]> {
  const parts = batch.flatMap(({ shard, changes, plans, births }): Part[] => {
    const created = plans.flatMap((plan) => plan.created);
    return [...changes, ...created, ...births].map((part) => ({ shard, part }));
  });
  const found = await bisected<Part, OffendingRow | null>(
    parts,
    async (some) => {
      const chosen = new Set(some.map(({ part }) => part));
      await tryOut(batch.map((commit) => only(commit, chosen)));
      return some.map(() => null);
    },
    ({ shard, part }, { message }) => ({ shard, part, id: "row" in part ? part.row.id : part.id, message }),
  );
  return found.filter((offending) => offending !== null);
}

function only(commit: ShardCommit, chosen: ReadonlySet<AnyPart>): ShardCommit {
  const changes = commit.changes.filter((change) => chosen.has(change));
  const plans = commit.plans
    .map((plan) => ({ ...plan, skips: [], created: plan.created.filter((occurrence) => chosen.has(occurrence)) }))
    .filter(({ created }) => created.length > 0);
  // A node is tried out without its parents, which may be in another part.
  const births = commit.births.filter((birth) => chosen.has(birth)).map((birth) => ({ ...birth, after: [] }));
  return {
    ...{ ...commit, changes, plans, births, assigned: [], settledJournals: [], expected: [], commandsDone: [] },
    ...{ steps: [], runs: [], commands: [], deliveries: [] },
    ...(commit.told !== undefined && { told: { ...commit.told, events: [], inbox: [] } }),
  };
}

/**
 * The commit without its offending rows. Journal rows stay open if a row could not be written, because they may be the
 * only record of its attempt, and records of handlers go with their row. A plan moves on without occurrences that could not be created. Nodes go with a change that they come after.
 */
export function without(commit: ShardCommit, offending: readonly OffendingRow[]): ShardCommit {
  const own = new Set(offending.filter(({ shard }) => shard === commit.shard).map(({ part }) => part));
  if (own.size === 0) return commit;
  const changes = commit.changes.filter((change) => !own.has(change));
  const plans = commit.plans.map((plan) => ({
    ...plan,
    created: plan.created.filter((occurrence) => !own.has(occurrence)),
  }));
  const settledJournals = changes.length < commit.changes.length ? [] : commit.settledJournals;
  const left = new Set(commit.changes.flatMap((change) => (own.has(change) ? [change.id] : [])));
  const steps = commit.steps.filter(({ executionId }) => !left.has(executionId));
  const births = commit.births.filter((birth) => !own.has(birth) && !birth.after.some((id) => left.has(id)));
  const commands = commit.commands.filter(
    ({ command }) => command.kind !== "NODE_ENDED" || !left.has(command.executionId),
  );
  return { ...commit, changes, plans, settledJournals, steps, births, commands, ...toldWithout(commit, own, births) };
}

/** Events of rows that are left out go with them. */
function toldWithout(
  { told, births }: ShardCommit,
  own: ReadonlySet<AnyPart>,
  kept: readonly NodeBirth[],
): Pick<ShardCommit, "told"> {
  if (told === undefined) return {};
  const written = new Set(kept);
  const unborn = births.filter((birth) => !written.has(birth));
  const left = new Set([...own, ...unborn].map((part) => ("row" in part ? part.row.id : part.id)));
  return { told: { ...told, events: told.events.filter(({ executionId }) => !left.has(executionId ?? "")) } };
}
