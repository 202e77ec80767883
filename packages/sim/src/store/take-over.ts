import type { Epoch, Incarnation, ShardId } from "@mainspring/server/testing";
import type { TakenOver } from "./history.ts";
import type { StoreData } from "./store-data.ts";

/**
 * See Store.takeOver. Shuts out all that the owners before, and the same owner, have sent and that has not taken effect:
 * whole calls, whatever other shards they are about, because it is a node's connection that is ended.
 */
export function takeOver(data: StoreData, shards: readonly ShardId[], owner: Incarnation): Epoch[] {
  const former = shards.map((shard) => data.shard(shard).owner);
  let shutOut = 0;
  for (const name of new Set([...former, owner])) if (name !== null) shutOut += data.onTheWay.shutOut(name);
  const taken: TakenOver["shards"] = shards.map((shard, i) => ({
    shard,
    epoch: data.shard(shard).takeOver(owner),
    from: former[i] ?? null,
  }));
  data.tell({ kind: "TAKEN_OVER", at: data.now(), owner, shards: taken, shutOut });
  return taken.map(({ epoch }) => epoch);
}
