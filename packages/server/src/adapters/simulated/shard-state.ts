import type { Epoch, EpochMs, ExecutionId, Incarnation } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import type { JournalEntry, JournalRef, RowChange } from "../../ports/store.ts";

/** Number of microseconds in a millisecond. */
export const MICROSECONDS = 1_000;

interface OpenJournal {
  ref: JournalRef;
  entries: readonly JournalEntry[];
}

/** Journal rows that stay open although they were settled, until these executions are written. */
interface Withheld {
  waitsFor: Set<ExecutionId>;
  refs: JournalRef[];
}

/** Fence of a shard, and its journal. */
export class ShardState {
  #epoch: Epoch = 0;
  #owner: Incarnation | null = null;
  readonly #journal = new Map<string, OpenJournal>();
  #withheld: Withheld | null = null;

  /** A copy with the same content. */
  copy(): ShardState {
    const copy = new ShardState();
    copy.#epoch = this.#epoch;
    copy.#owner = this.#owner;
    for (const [name, journal] of this.#journal) copy.#journal.set(name, journal);
    if (this.#withheld !== null)
      copy.#withheld = { waitsFor: new Set(this.#withheld.waitsFor), refs: this.#withheld.refs };
    return copy;
  }

  get epoch(): Epoch {
    return this.#epoch;
  }

  /** Owner of the shard; null: none. */
  get owner(): Incarnation | null {
    return this.#owner;
  }

  release(): void {
    this.#owner = null;
  }

  /** Leaves the shard without an owner, with an epoch that no owner of before has. @param now time in ms, from which epochs are made */
  raise(now: EpochMs): void {
    this.#owner = null;
    this.#epoch = Math.max(this.#epoch + 1, now * MICROSECONDS);
  }

  /** @param atLeast lower bound of the new epoch */
  takeOver(owner: Incarnation, atLeast: Epoch): Epoch {
    this.#owner = owner;
    // The new owner finds the withheld rows in the journal.
    this.#withheld = null;
    this.#epoch = Math.max(this.#epoch + 1, atLeast);
    return this.#epoch;
  }

  /** Open journal rows, in order of epoch and number. */
  journals(): OpenJournal[] {
    return [...this.#journal.values()].sort((a, b) => a.ref.epoch - b.ref.epoch || a.ref.seq - b.ref.seq);
  }

  addJournal(ref: JournalRef, entries: readonly JournalEntry[]): void {
    invariant(!this.#journal.has(nameOf(ref)), "a journal number is used once in an epoch");
    this.#journal.set(nameOf(ref), { ref, entries });
  }

  /**
   * Deletes journal rows, unless the commit that settles them had to omit a row: then the journal may be the only
   * record of that row's attempt.
   * @param refused executions that this commit omitted
   */
  settle(refs: readonly JournalRef[], changes: readonly RowChange[], refused: readonly ExecutionId[]): void {
    if (this.#withheld === null && refused.length === 0) {
      this.#delete(refs);
      return;
    }
    const { waitsFor, refs: before } = this.#withheld ?? { waitsFor: new Set<ExecutionId>(), refs: [] };
    for (const change of changes) waitsFor.delete(change.id);
    const isSettled = waitsFor.size === 0 && refused.length === 0;
    for (const id of refused) waitsFor.add(id);
    if (isSettled || refused.length === 0) this.#delete(refs);
    if (isSettled) this.#delete(before);
    this.#withheld = isSettled ? null : { waitsFor, refs: refused.length === 0 ? before : [...before, ...refs] };
  }

  #delete(refs: readonly JournalRef[]): void {
    for (const ref of refs) this.#journal.delete(nameOf(ref));
  }
}

function nameOf({ epoch, seq }: JournalRef): string {
  return `${epoch}/${seq}`;
}
