import type { History, Observer } from "../history.ts";

/** Error: an invariant was broken; the message says by what. */
export class Violation extends Error {
  override readonly name = "Violation";
}

/**
 * Watches events from outside, without knowing their causes. Every method may throw a Violation: `saw` at each write of
 * the store, `noticed` at each event of the history.
 */
export interface Checker extends Observer {
  readonly name: string;
  /** Called every few seconds once faults have ended. */
  looked?(nowMs: number): void;
  /** Called when everything has come to rest. */
  atEnd?(history: History): void;
}

/** A violation together with the checker that found it. */
export class Broken extends Error {
  readonly checker: string;

  constructor(checker: string, cause: Error) {
    super(`${checker}: ${cause.message}`, { cause });
    this.name = cause.name;
    this.checker = checker;
  }
}
