import type { Logger } from "pino";
import type { Readings } from "../../ports/metrics.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { BacklogOfPool, StoreQueries } from "../../ports/store-queries.ts";

const LOOK_EVERY_MS = 30_000;
/** Largest count that is reported for a pool. */
const COUNTED_MAX = 100_000;

/**
 * Counts the READY executions of each pool in the store at intervals, because owners have only the first of them in
 * memory.
 */
export class BacklogWatch {
  readonly #queries: Pick<StoreQueries, "backlog">;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  #found: readonly BacklogOfPool[] = [];
  #timer: Timer | null = null;
  #stopped = false;

  constructor(queries: Pick<StoreQueries, "backlog">, runtime: Runtime, log: Logger) {
    this.#queries = queries;
    this.#runtime = runtime;
    this.#log = log;
  }

  start(): void {
    this.#timer = this.#runtime.setTimer(LOOK_EVERY_MS, async () => {
      await this.look().catch((error: unknown) => {
        this.#log.warn({ err: error }, "the scheduler could not measure the backlog of pools and tries again");
      });
      if (!this.#stopped) this.start();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** @throws {StoreUnavailable} */
  async look(): Promise<void> {
    this.#found = await this.#queries.backlog(COUNTED_MAX);
  }

  readings(): Readings {
    const now = this.#runtime.now();
    return {
      backlogReady: new Map(this.#found.map(({ pool, ready }) => [pool, ready])),
      backlogOldestSec: new Map(
        this.#found.map(({ pool, oldestDueAt }) => [pool, Math.max(0, now - oldestDueAt) / 1_000]),
      ),
    };
  }
}
