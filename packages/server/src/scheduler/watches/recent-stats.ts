import { addBuckets, countDelay, emptyBuckets } from "../../domain/delay-buckets.ts";
import type { FinalState } from "../../domain/execution.ts";
import type { PlannedOutcome } from "../../domain/recurrence.ts";
import type { Metrics } from "../../ports/metrics.ts";
import type { Runtime } from "../../ports/runtime.ts";

/** Lateness is told of the last one to two of these. */
const GENERATION_MS = 60_000;

/** Recent figures of this scheduler, for the api. */
export class TallyBook {
  readonly #runtime: Runtime;
  readonly #finished = new Map<FinalState, number>();
  readonly #planned = new Map<PlannedOutcome, number>();
  #young = emptyBuckets();
  #old = emptyBuckets();
  #turnedAtMs: number;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#turnedAtMs = runtime.monotonicMs();
  }

  /** Metrics that are written down here as well. */
  beside(metrics: Metrics): Metrics {
    return {
      ...metrics,
      lateness: (pool, latenessMs) => {
        this.#turn();
        countDelay(this.#young, latenessMs);
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
    return addBuckets([this.#young, this.#old]);
  }

  /** Since this scheduler was made. */
  finished(): { state: FinalState; count: number }[] {
    return Array.from(this.#finished, ([state, count]) => ({ state, count }));
  }

  /** Planned instants that were accounted for, since this scheduler was made. */
  planned(): { outcome: PlannedOutcome; count: number }[] {
    return Array.from(this.#planned, ([outcome, count]) => ({ outcome, count }));
  }

  #turn(): void {
    const nowMs = this.#runtime.monotonicMs();
    if (nowMs - this.#turnedAtMs < GENERATION_MS) return;
    this.#old = nowMs - this.#turnedAtMs < 2 * GENERATION_MS ? this.#young : emptyBuckets();
    this.#young = emptyBuckets();
    this.#turnedAtMs = nowMs;
  }
}
