import type { StatsBody } from "@mainspring/contract";
import type { Readings } from "./ports/metrics.ts";
import type { RedisFigures } from "./ports/redis-figures.ts";
import type { Runtime, Timer } from "./ports/runtime.ts";

const LOOK_EVERY_MS = 5_000;
/** Time for which figures are shown, in ms. Older ones say nothing about a Redis that does not answer. */
const FRESH_MS = 2 * LOOK_EVERY_MS;
/** Time in ms for which too few replicas must have followed before the node says that it is not ready: one that connects again takes less. */
const MISSING_MS = 10_000;

/** Store whose server can be looked at. */
interface Looked {
  /** @throws {StoreUnavailable} */
  figures(): Promise<RedisFigures>;
}

/** Looks at the Redis that is the store at intervals, apart from all work. */
export class RedisStoreWatch {
  readonly #store: Looked;
  readonly #runtime: Runtime;
  readonly #durability: StatsBody["durability"];
  #found: (RedisFigures & { atMs: number }) | null = null;
  /** Start of the first of the looks in a row at which too few replicas followed; null: enough did at the last one. */
  #missingSinceMs: number | null = null;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(store: Looked, runtime: Runtime, durability: StatsBody["durability"]) {
    this.#store = store;
    this.#runtime = runtime;
    this.#durability = durability;
  }

  start(): void {
    void this.#look();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Replicas that follow and those that must, once too few have followed for 10 s; null: enough follow, or no look tells. */
  missingReplicas(): { follow: number; required: number } | null {
    const found = this.#fresh;
    if (found === null || this.#missingSinceMs === null) return null;
    if (this.#runtime.monotonicMs() - this.#missingSinceMs < MISSING_MS) return null;
    return { follow: found.replicas, required: this.#durability.replicas };
  }

  /** Figures of the last look; none of the server if it failed or was long ago. */
  readings(): Readings {
    const { disk, replicas } = this.#durability;
    const known = { redisStoreInfo: new Map([[disk, 1]]), redisStoreReplicasRequired: replicas };
    const found = this.#fresh;
    if (found === null) return known;
    return {
      ...known,
      redisStoreRole: new Map([[found.role, 1]]),
      redisStoreUsedBytes: found.usedBytes,
      redisStoreMaxBytes: found.maxBytes,
      redisStoreRefusalShare: found.refusalShare,
      redisStoreReplicas: found.replicas,
      redisStoreHistoryRows: found.historyRows,
      ...(found.lagBytes !== null && { redisStoreReplicaLagBytes: found.lagBytes }),
      ...(found.generation !== null && { redisStoreGeneration: found.generation }),
    };
  }

  get #fresh(): (RedisFigures & { atMs: number }) | null {
    const isOld = this.#found !== null && this.#runtime.monotonicMs() - this.#found.atMs > FRESH_MS;
    return isOld ? null : this.#found;
  }

  /** Parts of the node that need Redis log an outage, so a look that fails only leaves the figures away. */
  async #look(): Promise<void> {
    const atMs = this.#runtime.monotonicMs();
    const figures = await this.#store.figures().catch(() => null);
    this.#found = figures && { ...figures, atMs };
    if (figures !== null)
      this.#missingSinceMs = figures.replicas < this.#durability.replicas ? (this.#missingSinceMs ?? atMs) : null;
    if (!this.#stopped) this.#timer = this.#runtime.setTimer(LOOK_EVERY_MS, () => void this.#look());
  }
}
