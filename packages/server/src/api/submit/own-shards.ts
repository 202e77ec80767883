import { SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";

/**
 * Number of new jobs that a shard gets in a row. Jobs that are assigned together then share a journal row and the lock of
 * a shard, and the shards of a node get equally many jobs within a run.
 */
const RUN = 100;

/** Chooses the shards of new jobs: those that this node owns, one after the other. */
export class OwnShards {
  readonly #bus: Pick<Bus, "node" | "ownerOf">;
  #shard: ShardId = SHARD_COUNT - 1;
  /** Number of jobs that the present shard still gets. */
  #left = 0;

  constructor(bus: Pick<Bus, "node" | "ownerOf">) {
    this.#bus = bus;
  }

  /** Shard for the next job; null: this node owns none. */
  next(): ShardId | null {
    if (this.#left === 0 || !this.#isOwn(this.#shard)) {
      if (!this.#advance()) return null;
      this.#left = RUN;
    }
    this.#left--;
    return this.#shard;
  }

  #advance(): boolean {
    for (let step = 1; step <= SHARD_COUNT; step++) {
      const shard = (this.#shard + step) % SHARD_COUNT;
      if (!this.#isOwn(shard)) continue;
      this.#shard = shard;
      return true;
    }
    return false;
  }

  #isOwn(shard: ShardId): boolean {
    return this.#bus.ownerOf(shard) === this.#bus.node;
  }
}
