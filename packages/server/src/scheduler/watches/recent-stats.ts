import { addBuckets, countDelay, emptyBuckets } from "../../domain/delay-buckets.ts";
import type { FinalState } from "../../domain/execution.ts";
import type { PlannedOutcome } from "../../domain/recurrence.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Runtime } from "../../ports/runtime.ts";

/** Duration in ms of one generation. The reported lateness covers the last one to two generations. */
const GENERATION_MS = 60_000;

/** Recent statistics of this scheduler, for the api. */
export class RecentStats {
  readonly #runtime: Runtime;
  readonly #finished = new Map<FinalState, number>();
  readonly #planned = new Map<PlannedOutcome, number>();
  #current = emptyBuckets();
  #previous = emptyBuckets();
  #turnedAtMs: number;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#turnedAtMs = runtime.monotonicMs();
  }

  /** Wraps metrics, so that these statistics record them as well. */
  beside(metrics: Metrics): Metrics {
    return {
      ...metrics,
      lateness: (pool, latenessMs) => {
        this.#turn();
        countDelay(this.#current, latenessMs);
        metrics.lateness(pool, latenessMs);
      },
      finished: (state, count) => {
        this.#finished.set(state, (this.#finished.get(state) ?? 0) + count);
        metrics.finished(state, count);
      },
      planned: (outcome, count) => {
        this.#planned.set(outcome, (this.#planned.get(outcome) ?? 0) + count);
        metrics.planned(outcome, count);
      },
    };
  }

  lateness(): number[] {
    this.#turn();
    return addBuckets([this.#current, this.#previous]);
  }

  /** Executions that became final since the scheduler was created. */
  finished(): { state: FinalState; count: number }[] {
    return Array.from(this.#finished, ([state, count]) => ({ state, count }));
  }

  /** Planned instants that were accounted for since the scheduler was created. */
  planned(): { outcome: PlannedOutcome; count: number }[] {
    return Array.from(this.#planned, ([outcome, count]) => ({ outcome, count }));
  }

  #turn(): void {
    const nowMs = this.#runtime.monotonicMs();
    if (nowMs - this.#turnedAtMs < GENERATION_MS) return;
    this.#previous = nowMs - this.#turnedAtMs < 2 * GENERATION_MS ? this.#current : emptyBuckets();
    this.#current = emptyBuckets();
    this.#turnedAtMs = nowMs;
  }
}
