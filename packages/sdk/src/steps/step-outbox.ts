import type { StepReport } from "../session/work.ts";

/** Records of all running attempts that wait for the executor's next report. */
export class StepOutbox {
  /** Name of the connected server if it is too old to store steps; null: it can. */
  tooOld: string | null = null;
  readonly #flush: () => void;
  #steps: StepReport[] = [];

  /** @param flush called at each entry; must lead to a call of `take()` */
  constructor(flush: () => void) {
    this.#flush = flush;
  }

  add(step: StepReport): void {
    this.#steps.push(step);
    this.#flush();
  }

  /** Returns all entries since the last call; undefined: none. */
  take(): readonly StepReport[] | undefined {
    if (this.#steps.length === 0) return undefined;
    const taken = this.#steps;
    this.#steps = [];
    return taken;
  }
}
