import type { Logger } from "pino";
import { type Epoch, type Incarnation, SHARD_COUNT, type ShardId } from "../domain/ids.ts";
import type { Pool } from "../domain/pool.ts";
import type { Runtime } from "../ports/runtime.ts";
import { type Recovered, type Store, StoreUnusable } from "../ports/store.ts";

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

export interface Owned {
  epochs: Map<ShardId, Epoch>;
  recovered: Recovered;
  pools: Pool[];
}

/**
 * Becomes the owner of all shards: raises their epochs, which shuts out every owner before, and learns what is in
 * flight in them. Tries until the store answers.
 * @returns null once `wanted` says no
 * @throws {StoreUnusable} another server has claimed the store
 */
export async function takeOwnership(
  store: Store,
  incarnation: Incarnation,
  runtime: Runtime,
  log: Logger,
  wanted: () => boolean,
): Promise<Owned | null> {
  const shards = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
  for (let retryMs = FIRST_RETRY_MS; wanted(); retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)) {
    try {
      const epochs = await store.takeOver(shards, incarnation);
      const recovered = await store.recover(shards);
      const pools = await store.readPools();
      return { epochs: new Map(shards.map((shard, i) => [shard, epochs[i] as Epoch])), recovered, pools };
    } catch (error) {
      if (error instanceof StoreUnusable) throw error;
      log.warn({ err: error, retryMs }, "the shards could not be taken over and are tried again");
      await new Promise<void>((resolve) => runtime.setTimer(retryMs, resolve));
    }
  }
  return null;
}
