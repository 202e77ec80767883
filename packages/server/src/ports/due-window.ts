import type { EpochMs, ExecutionId, Incarnation, ShardId } from "../domain/ids.ts";

/**
 * Executions that fall due within the hour, by shard, in an index beside the store. An entry may be old, and one may be missing: the reader
 * loads the rows from the store by their ids, and sweeps the store every half minute.
 */
export interface DueWindow {
  /** Adds executions, or changes their due times. @throws {IndexUnavailable} some may be added */
  add(entries: readonly DueEntry[]): Promise<void>;
  /**
   * Puts down a mark of a node, which tells later whether the window has lost data since.
   * @throws {IndexUnavailable}
   */
  mark(node: Incarnation, mark: string): Promise<void>;
  /** Executions that are due until then, the earliest ones of each shard, and the mark of the node. @throws {IndexUnavailable} */
  due(node: Incarnation, shards: readonly ShardId[], dueUntil: EpochMs, limit: number): Promise<DueLook>;
  /** Removes entries that the machine has. @throws {IndexUnavailable} */
  remove(entries: readonly Omit<DueEntry, "dueAt">[]): Promise<void>;
}

export interface DueEntry {
  shard: ShardId;
  executionId: ExecutionId;
  dueAt: EpochMs;
}

export interface DueLook {
  entries: readonly DueEntry[];
  /** null: the node has put down no mark, or the index has lost it. */
  mark: string | null;
}

/** Time in ms from now on for which executions are in the window. */
export const WINDOW_MS = 3_600_000;
/** Time in ms after which the index drops a shard in which nothing is added, and a mark. */
export const WINDOW_KEPT_MS = 2 * WINDOW_MS;
/** Entries of a shard. Beyond that, the entries that are due last go. */
export const WINDOW_SHARD_MAX = 20_000;
