import type { RedisConnection } from "./redis-connection.ts";

/** Connections of a store by purpose. A connection that waits for one purpose does not hold up another. */
export interface Connections {
  /** Commits and takeovers. */
  commit: RedisConnection;
  /** Submits and changes of the api. */
  submit: RedisConnection;
  /** Reads of owners of shards. */
  read: RedisConnection;
  /** Reads of the api. */
  query: RedisConnection;
  /** Leases of nodes. */
  lease: RedisConnection;
  /** Upkeep, which pauses behind each call. */
  maintain: RedisConnection;
}
