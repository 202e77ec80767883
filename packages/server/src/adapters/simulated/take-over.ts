import type { Epoch, Incarnation, SeenShard } from "@mainspring/server/testing";
import type { TakenOver } from "./history.ts";
import type { StoreData } from "./store-data.ts";

/** Microseconds of a millisecond. */
const MICROSECONDS = 1_000;

/**
 * See Store.takeOver. Shuts out all that the owners before, and the same owner, have sent and that has not taken effect:
 * whole calls, whatever other shards they are about, because it is a node's connection that is ended.
 */
export function takeOver(data: StoreData, seen: readonly SeenShard[], owner: Incarnation): (Epoch | null)[] {
  const wanted = seen.filter(({ shard, epoch }) => data.shard(shard).epoch === epoch);
  const former = wanted.map(({ shard }) => data.shard(shard).owner);
  let shutOut = 0;
  for (const name of new Set([...former, owner])) if (name !== null) shutOut += data.onTheWay.shutOut(name);
  // As in PostgreSQL the time, which goes on where the store goes back.
  const time = data.now() * MICROSECONDS;
  const taken: TakenOver["shards"] = wanted.map(({ shard, epoch, knownEpoch = epoch }, i) => ({
    shard,
    epoch: data.shard(shard).takeOver(owner, Math.max(knownEpoch + 1, time)),
    from: former[i] ?? null,
  }));
  data.tell({ kind: "TAKEN_OVER", at: data.now(), owner, shards: taken, shutOut });
  const epochs = new Map(taken.map(({ shard, epoch }) => [shard, epoch]));
  return seen.map(({ shard }) => epochs.get(shard) ?? null);
}

/** See Store.letGo. */
export function letGo(data: StoreData, seen: readonly SeenShard[]): void {
  for (const { shard, epoch } of seen) if (data.shard(shard).epoch === epoch) data.shard(shard).letGo();
}
