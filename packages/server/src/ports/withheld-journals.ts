import type { ExecutionId, ShardId } from "../domain/ids.ts";
import type { JournalRef, ShardCommit } from "./store.ts";

interface Withheld {
  refused: Set<ExecutionId>;
  refs: JournalRef[];
}

/**
 * Journal rows that a commit would have deleted if it had not contained a row that the store refused. Until that row is
 * written (as DEAD), the journal keeps its attempt from being assigned again after a crash.
 */
export class WithheldJournals {
  readonly #byShard = new Map<ShardId, Withheld>();

  /** The commit, which also settles withheld journal rows if it writes the last of the refused rows. */
  addTo(commit: ShardCommit): ShardCommit {
    const withheld = this.#byShard.get(commit.shard);
    if (withheld === undefined || !writesAll(commit, withheld.refused)) return commit;
    return { ...commit, settledJournals: [...commit.settledJournals, ...withheld.refs] };
  }

  /** @param commit the commit as requested, with the additions of `addTo` */
  applied(commit: ShardCommit, refused: readonly ExecutionId[]): void {
    const withheld = this.#byShard.get(commit.shard);
    if (withheld === undefined && refused.length === 0) return;
    const open = new Set(withheld?.refused);
    for (const change of commit.changes) open.delete(change.id);
    for (const id of refused) open.add(id);
    if (open.size === 0) this.#byShard.delete(commit.shard);
    else {
      const refs = refused.length === 0 ? [] : commit.settledJournals;
      this.#byShard.set(commit.shard, { refused: open, refs: [...(withheld?.refs ?? []), ...refs] });
    }
  }

  forget(shards: readonly ShardId[]): void {
    for (const shard of shards) this.#byShard.delete(shard);
  }
}

function writesAll(commit: ShardCommit, ids: ReadonlySet<ExecutionId>): boolean {
  const written = new Set(commit.changes.map((change) => change.id));
  return [...ids].every((id) => written.has(id));
}
