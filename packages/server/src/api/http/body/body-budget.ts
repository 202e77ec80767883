import { busy } from "../errors.ts";

/**
 * Largest total of the bodies of all requests in progress, in bytes. Without it, every connection could hold a batch in
 * memory.
 */
export const BODY_BUDGET_BYTES = 256 * 1024 * 1024;
/** Size below which bodies are not counted, in bytes, because the number of connections bounds them. */
const SMALL_BYTES = 16 * 1024;

/**
 * Budget for the memory of bodies, counted as it is allocated, so a request that announces a large body and does not
 * send it costs nothing.
 */
export class BodyBudget {
  readonly #maxBytes: number;
  #takenBytes = 0;

  constructor(maxBytes: number = BODY_BUDGET_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** Creates a share without any bytes. */
  share(): BodyShare {
    let bytes = 0;
    const growTo = (wantedBytes: number) => {
      const counted = wantedBytes > SMALL_BYTES ? wantedBytes : 0;
      const others = this.#takenBytes - bytes;
      // A single body is accepted whatever its size.
      if (counted > bytes && others > 0 && others + counted > this.#maxBytes) {
        throw busy("too-many-requests", "other large requests fill the memory for bodies", 1);
      }
      this.#takenBytes = others + counted;
      bytes = counted;
    };
    return { growTo, release: () => growTo(0) };
  }
}

/** One body's share of the budget. */
export interface BodyShare {
  /** Raises the share. @throws {ProblemError} 429 while other bodies leave no room */
  growTo(bytes: number): void;
  release(): void;
}
