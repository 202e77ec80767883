import type { Epoch, ShardId } from "../domain/ids.ts";
import { BEFORE_ALL, type EventPosition, type EventRef, type EventRow, isBefore } from "../ports/store-events.ts";

/** A shard that the node owns: the epoch of the ownership, and the last row that the sink has. */
interface Followed {
  epoch: Epoch;
  at: EventRef;
}

/**
 * Which rows a sink gets next: a position for each shard that the node owns. A position moves when the sink has a row, and
 * counts only in the ownership in which it was read from the store.
 */
export class RelayCursor {
  readonly #shards = new Map<ShardId, Followed>();

  /** Position behind the rows that the sink has, in the followed shards. */
  get after(): EventPosition {
    return new Map(Array.from(this.#shards, ([shard, { at }]) => [shard, at]));
  }

  get shards(): ShardId[] {
    return [...this.#shards.keys()];
  }

  /** Forgets shards that the node does not own any more, or owns anew. @returns shards whose positions must be read */
  follow(owned: ReadonlyMap<ShardId, Epoch>): ShardId[] {
    for (const [shard, { epoch }] of this.#shards) if (owned.get(shard) !== epoch) this.#shards.delete(shard);
    return [...owned.keys()].filter((shard) => !this.#shards.has(shard));
  }

  /**
   * Begins with shards.
   * @param owned shards of the node with their epochs, from before the positions were read
   * @param positions last rows that the sink has
   */
  begin(owned: ReadonlyMap<ShardId, Epoch>, positions: EventPosition): void {
    for (const [shard, at] of positions) {
      const epoch = owned.get(shard);
      if (epoch !== undefined) this.#shards.set(shard, { epoch, at });
    }
  }

  /**
   * Rows that tell the sink of rows which the store has removed before the sink had them, one for each shard with a gap.
   * @param floors last row of each shard that the store has removed
   */
  gaps(floors: EventPosition): EventRow[] {
    const gaps: EventRow[] = [];
    for (const [shard, { at }] of this.#shards) {
      const floor = floors.get(shard) ?? BEFORE_ALL;
      if (isBefore(at, floor)) gaps.push({ shard, ...floor, events: [], droppedAfter: at });
    }
    return gaps;
  }

  /** Moves behind rows that the sink has. @returns last of the rows in each of their shards */
  delivered(rows: readonly EventRow[]): EventPosition {
    const reached = new Map<ShardId, EventRef>();
    for (const { shard, epoch, seq } of rows) {
      const ref = { epoch, seq };
      if (isBefore(reached.get(shard) ?? BEFORE_ALL, ref)) reached.set(shard, ref);
      const followed = this.#shards.get(shard);
      if (followed !== undefined && isBefore(followed.at, ref)) followed.at = ref;
    }
    return reached;
  }
}
