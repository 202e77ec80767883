import { RECURRING_MAX, simulate } from "../simulate.ts";
import type { Only, SimulationOptions, Verdict } from "../simulation.ts";

/** Largest number of simulations in one shrinking. */
const RUNS_MAX = 150;

export interface Shrunk {
  options: SimulationOptions;
  verdict: Verdict;
  runs: number;
}

/**
 * Makes a failing simulation smaller: less time, no faults of the store, fewer faults, jobs and workers, as long as the
 * same checker finds a violation, possibly of another execution.
 * @returns the smaller simulation; null: the options do not fail
 */
export async function shrink(options: SimulationOptions): Promise<Shrunk | null> {
  const verdict = await simulate(options);
  if (verdict.violation === null) return null;
  const shrinking = new Shrinking(options, verdict);
  await shrinking.run();
  return shrinking.best;
}

class Shrinking {
  best: Shrunk;
  readonly #checker: string | null;

  constructor(options: SimulationOptions, verdict: Verdict) {
    this.#checker = verdict.checker;
    this.best = { options, verdict, runs: 1 };
  }

  async run(): Promise<void> {
    const { jobs } = this.best.options;
    await this.#shorten();
    await this.#try({ only: { ...this.#only, reliableStore: true } });
    await this.#fewerFaults();
    await this.#thin(numbers(1, jobs), (kept) => ({ only: { ...this.#only, jobs: new Set(kept) } }));
    const recurring = numbers(1, RECURRING_MAX);
    await this.#thin(recurring, (kept) => ({ only: { ...this.#only, recurring: new Set(kept) } }));
    await this.#fewerWorkers();
    // A part that was needed before may be unnecessary now.
    await this.#shorten();
    await this.#try({ only: { ...this.#only, reliableStore: true } });
    await this.#fewerFaults();
  }

  async #fewerFaults(): Promise<void> {
    // Some faults have a number and no target.
    const planned = numbers(0, 2 * (this.best.verdict.figures["FAULT"] ?? 0));
    const left = this.#only.faults === undefined ? planned : [...this.#only.faults];
    await this.#thin(left, (kept) => ({ only: { ...this.#only, faults: new Set(kept) } }));
  }

  get #only(): Only {
    return this.best.options.only ?? {};
  }

  /**
   * Shortens the time. A violation before the end of the faults needs no time after it; otherwise the faults may end
   * earlier.
   */
  async #shorten(): Promise<void> {
    const { verdict, options } = this.best;
    const foundMs = Math.ceil(verdict.simulatedMs) + 1;
    const wholeMs = options.only?.untilMs ?? options.hours * 3_600_000;
    const untilMs = foundMs < wholeMs ? [foundMs] : [wholeMs / 16, wholeMs / 4, wholeMs / 2];
    for (const ms of untilMs) if (await this.#try({ only: { ...this.#only, untilMs: Math.ceil(ms) } })) return;
  }

  /**
   * Removes half of the parts, then quarters, down to single ones, as long as the simulation still fails.
   * @param change options that keep only these parts
   */
  async #thin(all: readonly number[], change: (kept: readonly number[]) => Partial<SimulationOptions>): Promise<void> {
    let kept = all;
    if (kept.length > 0 && (await this.#try(change([])))) return;
    for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let from = 0; from < kept.length; ) {
        const rest = [...kept.slice(0, from), ...kept.slice(from + size)];
        if (await this.#try(change(rest))) kept = rest;
        else from += size;
        if (this.best.runs >= RUNS_MAX) return;
      }
    }
  }

  async #fewerWorkers(): Promise<void> {
    for (const workers of [1, 2, 3, 5]) {
      if (workers < this.best.options.workers && (await this.#try({ workers }))) return;
    }
  }

  /** @returns whether the same checker finds a violation */
  async #try(change: Partial<SimulationOptions>): Promise<boolean> {
    if (this.best.runs >= RUNS_MAX) return false;
    const options = { ...this.best.options, ...change };
    const verdict = await simulate(options);
    const runs = this.best.runs + 1;
    const isSame = verdict.violation !== null && verdict.checker === this.#checker;
    this.best = isSame ? { options, verdict, runs } : { ...this.best, runs };
    return isSame;
  }
}

function numbers(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}
