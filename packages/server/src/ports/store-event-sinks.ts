import type { ShardId } from "../domain/ids.ts";
import type { EventPosition, EventRef } from "./store-events.ts";

/**
 * Positions of sinks of lifecycle events. `Store.maintain` keeps a row until every known sink has it, and forgets a sink that no
 * node has named for `SINK_KEPT_MS`.
 */
export interface StoreEventSinks {
  /**
   * Last rows that a sink has, of these shards. The call names the sink; a shard that the sink is new to has the position
   * before its oldest kept row.
   */
  sinkPositions(sink: string, shards: readonly ShardId[]): Promise<EventPosition>;
  /** Stores that a sink has all rows up to these. A position never falls; a sink that is not known stays so. */
  advanceSink(sink: string, reached: EventPosition): Promise<void>;
  /** Stored bytes of the rows behind a position, of each of these shards that has any. */
  eventBytes(after: EventPosition, shards: readonly ShardId[]): Promise<ShardBytes[]>;
  /** Removes rows up to these, whether or not a sink has them; readers behind them learn of it. @returns number of rows */
  dropEvents(upTo: EventPosition): Promise<number>;
}

/** Size of rows of a shard. */
export interface ShardBytes {
  shard: ShardId;
  bytes: number;
  /** The last of the rows. */
  last: EventRef;
}

/** Time in ms for which a sink that no node names any more keeps its positions, and rows wait for it. */
export const SINK_KEPT_MS = 86_400_000;
