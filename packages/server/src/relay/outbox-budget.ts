import type { Epoch, ShardId } from "../domain/ids.ts";
import { SHARD_COUNT } from "../domain/ids.ts";
import type { ShardBytes } from "../ports/store-event-sinks.ts";
import { BEFORE_ALL, type EventPosition, type EventRef, isBefore } from "../ports/store-events.ts";

/** Rows of a shard that were counted together. */
interface Counted {
  shard: ShardId;
  last: EventRef;
  bytes: number;
}

/**
 * The space that the kept events of this node's shards take, and which of them go when they take too much. Rows are counted
 * once, in the order in which they were written, and go together with those that were counted with them.
 */
export class OutboxBudget {
  readonly #maxBytes: number;
  readonly #epochs = new Map<ShardId, Epoch>();
  #counted: Counted[] = [];

  /** @param maxBytes limit of the whole store; a node may use the share of its shards */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Position behind the counted rows. */
  get after(): EventPosition {
    return new Map(this.#counted.map(({ shard, last }) => [shard, last]));
  }

  /** Counts the rows of these shards only. A shard that is new here is counted from its oldest row. */
  follow(owned: ReadonlyMap<ShardId, Epoch>): void {
    this.#counted = this.#counted.filter(({ shard }) => owned.get(shard) === this.#epochs.get(shard));
    this.#epochs.clear();
    for (const [shard, epoch] of owned) this.#epochs.set(shard, epoch);
  }

  /**
   * Counts more rows.
   * @param floors last row of each shard that the store has removed
   * @returns position up to which rows have to go; empty: none
   */
  count(sizes: readonly ShardBytes[], floors: EventPosition): EventPosition {
    const isKept = ({ shard, last }: Counted) => isBefore(floors.get(shard) ?? BEFORE_ALL, last);
    // The last entry of a shard stays even if its rows are gone, because it is the position of the next count.
    const left = this.#counted.filter(
      (one, i) => isKept(one) || !this.#counted.some((other, j) => j > i && other.shard === one.shard),
    );
    this.#counted = [...left, ...sizes];
    let bytes = this.#counted.reduce((sum, one) => sum + (isKept(one) ? one.bytes : 0), 0);
    const upTo = new Map<ShardId, EventRef>();
    const share = (this.#maxBytes * this.#epochs.size) / SHARD_COUNT;
    for (const one of this.#counted) {
      if (bytes <= share) break;
      if (!isKept(one)) continue;
      upTo.set(one.shard, one.last);
      bytes -= one.bytes;
    }
    return upTo;
  }
}
