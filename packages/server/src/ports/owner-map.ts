import type { Epoch, Incarnation, ShardId } from "../domain/ids.ts";
import type { Envelope } from "./bus.ts";
import type { ToApi } from "./messages.ts";

/**
 * Owners of shards, as the owners announced them to the api. A hint: the highest epoch is believed, and it may be out
 * of date.
 */
export class OwnerMap {
  readonly #shards = new Map<ShardId, { owner: Incarnation; epoch: Epoch }>();

  ownerOf(shard: ShardId): Incarnation | null {
    return this.#shards.get(shard)?.owner ?? null;
  }

  /** Every bus shows it what is on its way to the api, whether somebody listens there or not. */
  hear({ from, message }: Envelope<ToApi>): void {
    if (message.kind !== "OWNER") return;
    const listed = new Set(message.shards.map(({ shard }) => shard));
    for (const [shard, { owner }] of this.#shards) if (owner === from && !listed.has(shard)) this.#shards.delete(shard);
    for (const { shard, epoch } of message.shards) {
      if (epoch >= (this.#shards.get(shard)?.epoch ?? 0)) this.#shards.set(shard, { owner: from, epoch });
    }
  }
}
