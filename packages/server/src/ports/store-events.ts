import type { Epoch, ShardId } from "../domain/ids.ts";
import type { LifecycleEvent } from "../domain/lifecycle-event.ts";
import type { InboxEvents } from "./told-events.ts";

/**
 * Kept events. `Store.commit` writes the events of a shard with the changes that they tell, under the shard's fence, so the
 * rows of a shard become visible in the order of (epoch, seq). `Store.submit` and the writes of `StoreJobs` leave events in
 * an inbox, which the owner of the shard empties with its commits. Gateways leave events of workers there.
 */
export interface StoreEvents {
  /**
   * Rows behind a position: of each shard in order, the shards in any order. At most `limit` rows, and no further row once
   * those before it have 128 KiB in the store.
   * @param limit 1 to 10_000
   * @param shards shards to read; default: all
   * @returns null: the store has removed rows behind the position
   */
  read(after: EventPosition, limit: number, shards?: readonly ShardId[]): Promise<EventRow[] | null>;
  /** Position behind the newest row of each shard. */
  newest(): Promise<EventPosition>;
  /** Position before the oldest kept row of each shard. */
  oldest(): Promise<EventPosition>;
  /**
   * Leaves events in the inboxes of shards, in one transaction. A repeat of a member that is still there changes nothing; after
   * that, its events are told again.
   */
  leave(members: readonly InboxEvents[]): Promise<void>;
  /** Members of the inboxes of the shards, without those in `known`. @param limit 1 to 10_000 */
  readInbox(shards: readonly ShardId[], known: ReadonlySet<string>, limit: number): Promise<InboxRef[]>;
}

/** Last row of each shard that a reader has. A shard without an entry: none. */
export type EventPosition = ReadonlyMap<ShardId, EventRef>;

export interface EventRef {
  epoch: Epoch;
  /** Grows with each row of the epoch, with gaps. */
  seq: number;
}

/** Position of a reader of a shard that has no row yet. */
export const BEFORE_ALL: EventRef = { epoch: 0, seq: 0 };

/** Order of two rows of one shard: negative if the first one was written first, 0 if they are the same. */
export function compareRefs(a: EventRef, b: EventRef): number {
  return a.epoch - b.epoch || a.seq - b.seq;
}

/** Whether one row of a shard comes before another. */
export function isBefore(a: EventRef, b: EventRef): boolean {
  return compareRefs(a, b) < 0;
}

/** Events that one commit has written for a shard. */
export interface EventRow extends EventRef {
  shard: ShardId;
  events: readonly LifecycleEvent[];
  /**
   * Only for sinks: the store has removed the rows behind this position up to the row's own before the sink had them. The
   * row has no events then.
   */
  droppedAfter?: EventRef;
}

/** Events that a submit or a change of a job has left for the owner of the shard. */
export interface InboxRef {
  id: string;
  shard: ShardId;
}

/** Events that a commit writes for its shard. */
export interface ToldEvents {
  /** Number of the row that keeps the events; grows within an epoch. */
  seq: number;
  /**
   * Events of what the commit writes. The store leaves out those of executions that it names in its answer as missed, not
   * created or refused, and of skips of missed plans. An execution that it creates as SKIPPED gets a JobSkipped in the place
   * of its JobCreated.
   */
  events: readonly LifecycleEvent[];
  /** Members of the shard's inbox that the commit moves to the kept events. Unknown ones are left out. */
  inbox: readonly string[];
}

/** Default of `Retention.eventsMs`. */
export const EVENTS_KEPT_MS = 3_600_000;
