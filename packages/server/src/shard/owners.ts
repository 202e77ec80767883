import { type Epoch, type Incarnation, SHARD_COUNT, type ShardId } from "../domain/ids.ts";

interface Ownership {
  owner: Incarnation;
  epoch: Epoch;
}

/** What an OWNER message changed. */
export interface OwnershipChange {
  /** Some epoch grew: the owner began anew and remembers no credit. */
  isNew: boolean;
  /** Own nothing any more. */
  gone: Incarnation[];
}

/**
 * Who owns which shard, from what owners themselves said to this gateway. Only that counts, not what the bus believes:
 * a node that was overtaken must neither hear what workers hold nor judge it.
 */
export class Owners {
  readonly #shards: (Ownership | null)[] = Array.from({ length: SHARD_COUNT }, () => null);
  #all: readonly Incarnation[] = [];

  /** Every node that owns something. */
  get all(): readonly Incarnation[] {
    return this.#all;
  }

  /** null: nobody has said that it owns the shard. */
  of(shard: ShardId): Incarnation | null {
    return this.#shards[shard]?.owner ?? null;
  }

  /** False for the epochs of owners that were overtaken. */
  isCurrent(shard: ShardId, epoch: Epoch): boolean {
    return epoch >= (this.#shards[shard]?.epoch ?? 0);
  }

  /** Epochs only grow; what is older than recorded is ignored. */
  record(owner: Incarnation, shards: readonly { shard: ShardId; epoch: Epoch }[]): OwnershipChange {
    let isNew = false;
    for (const { shard, epoch } of shards) {
      const known = this.#shards[shard];
      // undefined: no such shard.
      if (known === undefined || (known !== null && epoch <= known.epoch)) continue;
      this.#shards[shard] = { owner, epoch };
      isNew = true;
    }
    const before = this.#all;
    if (isNew) this.#all = [...new Set(this.#shards.flatMap((ownership) => ownership?.owner ?? []))];
    return { isNew, gone: before.filter((node) => !this.#all.includes(node)) };
  }
}
