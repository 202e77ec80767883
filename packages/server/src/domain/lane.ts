import { fnv1a } from "./ids.ts";

/**
 * What makes two ready executions interchangeable but for their rank: who may run them, and what may hold them back.
 * The concurrency key is part of it so that work which waits for a key never hides other work.
 */
export interface LaneKey {
  pool: string;
  tenant: string;
  handler: string;
  /** Sorted, without repeats. */
  requires: readonly string[];
  concurrencyKey: string | null;
}

/** A text that is equal exactly when two lanes are. */
export function laneName(key: LaneKey): string {
  return JSON.stringify([key.pool, key.tenant, key.handler, key.requires, key.concurrencyKey]);
}

/**
 * The number by which the store indexes a lane: 53 bits, so that it is exact in JSON and in a bigint column.
 * Two lanes may share one; a reader gets rows of both and tells them apart by their own columns.
 */
export function laneHash(key: LaneKey): number {
  const name = laneName(key);
  return (fnv1a(name, 0x811c9dc5) % 0x200000) * 0x100000000 + fnv1a(name, 0x01234567);
}
