import type { Epoch, Incarnation, ShardId } from "../domain/ids.ts";
import type { Envelope } from "./bus.ts";
import type { ToApi } from "./messages.ts";

/**
 * Owners of shards, as the owners announced them to the api. The map is a hint: it believes the highest epoch of each
 * shard, and may be out of date.
 */
export class OwnerMap {
  readonly #shards = new Map<ShardId, { owner: Incarnation; epoch: Epoch }>();

  ownerOf(shard: ShardId): Incarnation | null {
    return this.#shards.get(shard)?.owner ?? null;
  }

  /**
   * Reads the announcements of owners. Every bus passes each message for the api here, even if the api has no listener.
   */
  hear({ from, message }: Envelope<ToApi>): void {
    if (message.kind !== "OWNER") return;
    const listed = new Set(message.shards.map(({ shard }) => shard));
    for (const [shard, { owner }] of this.#shards) if (owner === from && !listed.has(shard)) this.#shards.delete(shard);
    for (const { shard, epoch } of message.shards) {
      if (epoch >= (this.#shards.get(shard)?.epoch ?? 0)) this.#shards.set(shard, { owner: from, epoch });
    }
  }
}
