import type { EpochMs } from "../../domain/ids.ts";
import type { Skip, SkipReason } from "../../domain/recurrence.ts";

/** So many in a row for one reason are written one by one; more are one row. */
const ONE_BY_ONE = 100;

/** Planned instants that did not run, as they are skipped one after the other. */
export class SkipRuns {
  readonly #runs: { reason: SkipReason; instants: EpochMs[] }[] = [];
  #isBroken = true;

  add(at: EpochMs, reason: SkipReason): void {
    const last = this.#runs.at(-1);
    if (!this.#isBroken && last?.reason === reason) last.instants.push(at);
    else this.#runs.push({ reason, instants: [at] });
    this.#isBroken = false;
  }

  /** An instant ran, or waits: those before and after it are not in a row. */
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
