import type { Logger } from "pino";
import type { Readings } from "../../ports/metrics.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { OverdueJob, StoreQueries } from "../../ports/store-queries.ts";

const LOOK_EVERY_MS = 10_000;
/** Largest count that is reported. */
const OVERDUE_COUNTED_MAX = 1_000;

/** Counts recurring jobs at intervals whose next instant has passed without being accounted for, in all shards. */
export class OverdueWatch {
  readonly #queries: Pick<StoreQueries, "overdue">;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  #found: readonly OverdueJob[] = [];
  #timer: Timer | null = null;
  #stopped = false;

  constructor(queries: Pick<StoreQueries, "overdue">, runtime: Runtime, log: Logger) {
    this.#queries = queries;
    this.#runtime = runtime;
    this.#log = log;
  }

  start(): void {
    this.#timer = this.#runtime.setTimer(LOOK_EVERY_MS, async () => {
      await this.look().catch((error: unknown) => this.#failed(error));
      if (!this.#stopped) this.start();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** @throws {StoreUnavailable} */
  async look(): Promise<void> {
    this.#found = await this.#queries.overdue(null, this.#runtime.now(), OVERDUE_COUNTED_MAX);
  }

  readings(): Readings {
    const [oldest] = this.#found;
    const oldestSec = oldest === undefined ? 0 : (this.#runtime.now() - oldest.nextFireAt) / 1_000;
    return { jobsOverdue: this.#found.length, jobsOverdueOldestSec: Math.max(0, oldestSec) };
  }

  #failed(error: unknown): void {
    if (!this.#stopped) this.#log.warn({ err: error }, "the scheduler could not count overdue jobs and tries again");
  }
}
