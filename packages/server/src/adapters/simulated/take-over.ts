import type { Epoch, Incarnation } from "../../domain/ids.ts";
import type { SeenShard } from "../../ports/store.ts";
import type { TakenOver } from "./history.ts";
import { MICROSECONDS } from "./shard-state.ts";
import type { StoreData } from "./store-data.ts";

/**
 * See Store.takeOver. Shuts out all calls that the previous owners, and the same owner, have sent and that have not
 * taken effect: whole calls, whichever other shards they concern, because PostgreSQL terminates a node's connection.
 */
export function takeOver(data: StoreData, seen: readonly SeenShard[], owner: Incarnation): (Epoch | null)[] {
  const wanted = seen.filter(({ shard, epoch }) => data.shard(shard).epoch === epoch);
  const former = wanted.map(({ shard }) => data.shard(shard).owner);
  let shutOut = 0;
  for (const name of new Set([...former, owner])) if (name !== null) shutOut += data.onTheWay.shutOut(name);
  // The epoch is the time, as in PostgreSQL, because the clock goes on when the store is restored to an earlier state.
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

/** See Store.releaseShards. */
export function releaseShards(data: StoreData, seen: readonly SeenShard[]): void {
  for (const { shard, epoch } of seen) if (data.shard(shard).epoch === epoch) data.shard(shard).release();
}
