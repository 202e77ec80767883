import type { History } from "../history.ts";
import type { StoreEvent } from "../store/history.ts";

/** An invariant was broken; the message says by what. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/** Watches what becomes true, from outside, and knows nothing of how it came about. */
export interface Checker {
  readonly name: string;
  /** At each step. @throws {Violation} */
  saw?(event: StoreEvent): void;
  /** When all has come to rest. @throws {Violation} */
  atEnd?(history: History): void;
}
