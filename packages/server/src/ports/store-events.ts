import type { LifecycleEvent } from "../domain/lifecycle-event.ts";
import type { Epoch, ShardId } from "../domain/ids.ts";

/**
 * Kept events. `Store.commit` writes the events of a shard with the changes that they tell, under the shard's fence, so the
 * rows of a shard become visible in the order of (epoch, seq). `Store.submit` and the writes of `StoreJobs` leave events in
 * an inbox, which the owner of the shard empties with its commits.
 */
export interface StoreEvents {
  /**
   * Rows of all shards behind a position: of each shard in order, the shards in any order. At most `limit` rows, and no
   * further row once those before it have 4 MiB.
   * @param limit 1 to 10_000
   * @returns null: the store has removed rows behind the position
   */
  read(after: EventPosition, limit: number): Promise<EventRow[] | null>;
  /** Position behind the newest row of each shard. */
  newest(): Promise<EventPosition>;
  /** Position before the oldest kept row of each shard. */
  oldest(): Promise<EventPosition>;
  /** Events in the inbox of the shards, oldest first, without those in `known`. @param limit 1 to 10_000 */
  readInbox(shards: readonly ShardId[], known: ReadonlySet<string>, limit: number): Promise<InboxEvents[]>;
}

/** Last row of each shard that a reader has. A shard without an entry: none. */
export type EventPosition = ReadonlyMap<ShardId, EventRef>;

export interface EventRef {
  epoch: Epoch;
  /** Grows with each row of the epoch, from 1. */
  seq: number;
}

/** Events that one commit has written for a shard. */
export interface EventRow extends EventRef {
  shard: ShardId;
  events: readonly LifecycleEvent[];
}

/** Events that a submit or a change of a job has left for the owner of the shard. */
export interface InboxEvents {
  id: string;
  shard: ShardId;
  events: readonly LifecycleEvent[];
}
