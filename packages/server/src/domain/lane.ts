import { fnv1a } from "./ids.ts";
import { isSameList } from "./same-list.ts";

/**
 * Properties by which READY executions are interchangeable except for their rank: the workers that may run them, and
 * the limits that may hold them back. The concurrency key is one of them, so that work which waits for a key never
 * hides other work.
 */
export interface LaneKey {
  pool: string;
  tenant: string;
  handler: string;
  /** Sorted, without repeats. */
  requires: readonly string[];
  concurrencyKey: string | null;
}

interface Known {
  key: LaneKey;
  name: string;
  hash: number | null;
}

/**
 * The lane of the last call. Successive calls mostly ask for the same lane, and comparing keys is cheaper than building
 * its name.
 */
let last: Known = named({ pool: "", tenant: "", handler: "", requires: [], concurrencyKey: null });

/** Name of a lane. Two lanes have the same name exactly if their keys are equal. */
export function laneName(key: LaneKey): string {
  return known(key).name;
}

function known(key: LaneKey): Known {
  if (!isSame(key, last.key)) last = named(key);
  return last;
}

function named({ pool, tenant, handler, requires, concurrencyKey }: LaneKey): Known {
  const name = JSON.stringify([pool, tenant, handler, requires, concurrencyKey]);
  return { key: { pool, tenant, handler, requires: [...requires], concurrencyKey }, name, hash: null };
}

function isSame(a: LaneKey, b: LaneKey): boolean {
  return (
    a.handler === b.handler &&
    a.pool === b.pool &&
    a.concurrencyKey === b.concurrencyKey &&
    a.tenant === b.tenant &&
    isSameList(a.requires, b.requires)
  );
}

/**
 * Hash by which the store indexes a lane: 53 bits, so that it is exact in JSON and in a bigint column. Two lanes may
 * share a hash; a reader gets the rows of both, and distinguishes them by their other columns.
 */
export function laneHash(key: LaneKey): number {
  const lane = known(key);
  lane.hash ??= (fnv1a(lane.name, 0x811c9dc5) % 0x200000) * 0x100000000 + fnv1a(lane.name, 0x01234567);
  return lane.hash;
}
