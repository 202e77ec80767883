import { busy } from "./errors.ts";

/** Bodies of all requests under way together. Without it every connection could hold a batch in memory. */
export const BODY_BUDGET_BYTES = 256 * 1024 * 1024;
/** Smaller bodies are not counted: the number of connections bounds them. */
const SMALL_BYTES = 16 * 1024;

/** The memory that bodies take, counted as it is taken: what a request announces and does not send costs nothing. */
export class BodyBudget {
  readonly #maxBytes: number;
  #takenBytes = 0;

  constructor(maxBytes: number = BODY_BUDGET_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** A share that begins with nothing. */
  share(): BodyShare {
    let bytes = 0;
    const growTo = (wantedBytes: number) => {
      const counted = wantedBytes > SMALL_BYTES ? wantedBytes : 0;
      const others = this.#takenBytes - bytes;
      // A body that is alone is taken whatever the budget.
      if (counted > bytes && others > 0 && others + counted > this.#maxBytes) {
        throw busy("too-many-requests", "other large requests fill the memory for bodies", 1);
      }
      this.#takenBytes = others + counted;
      bytes = counted;
    };
    return { growTo, release: () => growTo(0) };
  }
}

/** One body's part of the budget. */
export interface BodyShare {
  /** @throws {ProblemError} 429 while others leave no room */
  growTo(bytes: number): void;
  release(): void;
}
