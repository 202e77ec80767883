import { type Epoch, type Incarnation, SHARD_COUNT, type ShardId } from "../domain/ids.ts";
import type { OwnedShard } from "../ports/messages.ts";

interface Ownership {
  /** null: the owner under this epoch has released the shard, and no other node has taken it over. */
  owner: Incarnation | null;
  epoch: Epoch;
}

/** Change that an OWNER message has caused. */
export interface OwnershipChange {
  /** Whether the term is new, a shard was added, or the owner owned nothing before. */
  isNew: boolean;
  /** Shards that the owner did not own before, or owns under another epoch now. */
  claimed: ReadonlySet<ShardId>;
  /** Whether the owner has started with an empty memory, so that it remembers no credit. */
  isForgetful: boolean;
  /** Nodes that own no shards any more. */
  gone: Incarnation[];
}

/**
 * Owners of shards, as the owners announced them to this node. The gateway relies on this, not on the bus's map: a node
 * that was overtaken must neither learn what workers hold nor decide about it.
 */
export class Owners {
  readonly #shards: (Ownership | null)[] = Array.from({ length: SHARD_COUNT }, () => null);
  /**
   * Highest term of each owner, including nodes that own nothing now, because their earlier messages may still arrive.
   */
  readonly #terms = new Map<Incarnation, number>();
  readonly #lives = new Map<Incarnation, number>();
  #all: readonly Incarnation[] = [];

  /** Every node that owns a shard. */
  get all(): readonly Incarnation[] {
    return this.#all;
  }

  /** Owner of a shard; null: no node has announced the shard. */
  of(shard: ShardId): Incarnation | null {
    return this.#shards[shard]?.owner ?? null;
  }

  /** Whether the epoch is at least the known one. It is not for owners that were overtaken. */
  isCurrent(shard: ShardId, epoch: Epoch): boolean {
    return epoch >= (this.#shards[shard]?.epoch ?? 0);
  }

  /** Highest announced epoch of each shard. */
  epochs(): Map<ShardId, Epoch> {
    return new Map(this.#shards.flatMap((known, shard) => (known === null ? [] : [[shard, known.epoch]])));
  }

  /** Highest term that the owner has announced; 0: none. */
  termOf(owner: Incarnation): number {
    return this.#terms.get(owner) ?? 0;
  }

  /**
   * Applies an OWNER message. Epochs and the terms of an owner only grow, so a message with an older term is ignored.
   * @param shards all shards of the owner; within a term they only become fewer
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
      // `known` is undefined if there is no such shard.
      if (known === undefined || (known !== null && epoch <= known.epoch)) continue;
      this.#shards[shard] = { owner, epoch };
      claimed.add(shard);
    }
    return claimed;
  }

  /** Removes the owner from shards that it has released. Their epochs stay, so that older owners stay refused. */
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
