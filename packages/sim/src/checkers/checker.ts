import type { History, Observer } from "../history.ts";

/** An invariant was broken; the message says by what. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/**
 * Watches what becomes true, from outside, and knows nothing of how it came about. Every method may throw a Violation:
 * `saw` at each write of the store, `noticed` at each moment of the history.
 */
export interface Checker extends Observer {
  readonly name: string;
  /** Every few seconds once faults have ended. */
  looked?(nowMs: number): void;
  /** When all has come to rest. */
  atEnd?(history: History): void;
}

/** Says who saw a violation. */
export class Broken extends Error {
  readonly checker: string;

  constructor(checker: string, cause: Error) {
    super(`${checker}: ${cause.message}`, { cause });
    this.name = cause.name;
    this.checker = checker;
  }
}
