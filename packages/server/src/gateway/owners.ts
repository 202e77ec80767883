import { type Epoch, type Incarnation, SHARD_COUNT, type ShardId } from "../domain/ids.ts";
import type { OwnedShard } from "../ports/messages.ts";

interface Ownership {
  /** null: the one who owned it under this epoch has given it up, and nobody has taken it. */
  owner: Incarnation | null;
  epoch: Epoch;
}

/** Change that an OWNER message made. */
export interface OwnershipChange {
  /** A term that was not known yet, a shard more, or the owner is back. */
  isNew: boolean;
  /** Shards that are the owner's only now, or anew under another epoch. */
  claimed: ReadonlySet<ShardId>;
  /** The owner remembers no credit. */
  isForgetful: boolean;
  /** Own nothing any more. */
  gone: Incarnation[];
}

/**
 * Owners of shards, as the owners announced them to this node. Only that counts, not what the bus believes: a
 * node that was overtaken must neither hear what workers hold nor judge it.
 */
export class Owners {
  readonly #shards: (Ownership | null)[] = Array.from({ length: SHARD_COUNT }, () => null);
  /** The highest of each owner, also of those that own nothing now: what they said before may still be on its way. */
  readonly #terms = new Map<Incarnation, number>();
  readonly #lives = new Map<Incarnation, number>();
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

  /** Highest epoch of each shard that an owner has named. */
  epochs(): Map<ShardId, Epoch> {
    return new Map(this.#shards.flatMap((known, shard) => (known === null ? [] : [[shard, known.epoch]])));
  }

  /** 0: it has said nothing yet. */
  termOf(owner: Incarnation): number {
    return this.#terms.get(owner) ?? 0;
  }

  /**
   * Epochs only grow, and so do an owner's terms; what is older than recorded is ignored.
   * @param shards all that it owns; within a term they only become fewer
   */
  record(
    owner: Incarnation,
    { term, life, shards }: { term: number; life: number; shards: readonly OwnedShard[] },
  ): OwnershipChange {
    const known = this.termOf(owner);
    if (term < known) return { isNew: false, claimed: new Set(), isForgetful: false, gone: [] };
    this.#terms.set(owner, term);
    const isForgetful = life > (this.#lives.get(owner) ?? 0);
    this.#lives.set(owner, life);
    const claimed = this.#claim(owner, shards);
    const hasMore = claimed.size > 0;
    const hasLess = this.#giveUp(owner, shards);
    const before = this.#all;
    if (hasMore || hasLess) this.#all = [...new Set(this.#shards.flatMap((ownership) => ownership?.owner ?? []))];
    const isNew = (hasMore || term > known) && this.#all.includes(owner);
    return { isNew, claimed, isForgetful, gone: before.filter((node) => !this.#all.includes(node)) };
  }

  #claim(owner: Incarnation, shards: readonly OwnedShard[]): Set<ShardId> {
    const claimed = new Set<ShardId>();
    for (const { shard, epoch } of shards) {
      const known = this.#shards[shard];
      // undefined: no such shard.
      if (known === undefined || (known !== null && epoch <= known.epoch)) continue;
      this.#shards[shard] = { owner, epoch };
      claimed.add(shard);
    }
    return claimed;
  }

  /** The epoch stays: nothing older counts. */
  #giveUp(owner: Incarnation, shards: readonly { shard: ShardId }[]): boolean {
    const kept = new Set(shards.map(({ shard }) => shard));
    let hasLess = false;
    this.#shards.forEach((ownership, shard) => {
      if (ownership?.owner !== owner || kept.has(shard)) return;
      ownership.owner = null;
      hasLess = true;
    });
    return hasLess;
  }
}
