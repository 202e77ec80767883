import type { EpochMs } from "../../domain/ids.ts";
import type { Skip, SkipReason } from "../../domain/recurrence.ts";

/** Up to this many consecutive instants with the same reason get a row each. A longer run gets a single row. */
const ONE_BY_ONE = 100;

/** Collects planned instants that did not run, in the order in which they are skipped. */
export class SkipRuns {
  readonly #runs: { reason: SkipReason; instants: EpochMs[] }[] = [];
  #isBroken = true;

  add(at: EpochMs, reason: SkipReason): void {
    const last = this.#runs.at(-1);
    if (!this.#isBroken && last?.reason === reason) last.instants.push(at);
    else this.#runs.push({ reason, instants: [at] });
    this.#isBroken = false;
  }

  /** Ends the present run, because an instant ran or waits. */
  interrupt(): void {
    this.#isBroken = true;
  }

  rows(): Skip[] {
    return this.#runs.flatMap(({ reason, instants }) => {
      if (instants.length <= ONE_BY_ONE) return instants.map((at) => ({ from: at, to: at, count: 1, reason }));
      const to = instants.at(-1) as EpochMs;
      return [{ from: instants[0] as EpochMs, to, count: instants.length, reason }];
    });
  }
}
