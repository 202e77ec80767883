import type { Epoch, Incarnation, ShardId } from "@mainspring/server/testing";
import type { TakenOver } from "./history.ts";
import type { StoreData } from "./store-data.ts";

/** A shard as the caller last saw it. */
export interface Seen {
  shard: ShardId;
  epoch: Epoch;
}

/**
 * See Store.takeOver. Shuts out all that the owners before, and the same owner, have sent and that has not taken effect:
 * whole calls, whatever other shards they are about, because it is a node's connection that is ended.
 */
export function takeOver(data: StoreData, seen: readonly Seen[], owner: Incarnation): (Epoch | null)[] {
  const wanted = seen.filter(({ shard, epoch }) => data.shard(shard).epoch === epoch);
  const former = wanted.map(({ shard }) => data.shard(shard).owner);
  let shutOut = 0;
  for (const name of new Set([...former, owner])) if (name !== null) shutOut += data.onTheWay.shutOut(name);
  const taken: TakenOver["shards"] = wanted.map(({ shard }, i) => ({
    shard,
    epoch: data.shard(shard).takeOver(owner),
    from: former[i] ?? null,
  }));
  data.tell({ kind: "TAKEN_OVER", at: data.now(), owner, shards: taken, shutOut });
  const epochs = new Map(taken.map(({ shard, epoch }) => [shard, epoch]));
  return seen.map(({ shard }) => epochs.get(shard) ?? null);
}

/** See Store.letGo. */
export function letGo(data: StoreData, seen: readonly Seen[]): void {
  for (const { shard, epoch } of seen) if (data.shard(shard).epoch === epoch) data.shard(shard).letGo();
}
