import { SinkRefused } from "../ports/event-sink.ts";

/** First and longest wait in ms after a failure. */
const FIRST_WAIT_MS = 100;
const LAST_WAIT_MS = 10_000;
/** Wait in ms after a refusal: only a person can change the cause. */
const REFUSED_WAIT_MS = 60_000;

/** Consequences of a failure of a relay. */
export interface Failure {
  waitMs: number;
  /** Whether the failure is worth a line in the log: the first one of its kind since the relay last worked. */
  isNews: boolean;
}

/** Waits of a relay between its attempts. They grow until the relay works again. */
export class RelayWaits {
  #waitMs = FIRST_WAIT_MS;
  /** Message of the refusal that was told; null: none. */
  #refusal: string | null = null;
  #isDown = false;

  /** Whether the last attempt failed. */
  get isDown(): boolean {
    return this.#isDown;
  }

  failed(error: unknown): Failure {
    if (error instanceof SinkRefused) {
      const isNews = error.message !== this.#refusal;
      this.#refusal = error.message;
      this.#isDown = true;
      return { waitMs: REFUSED_WAIT_MS, isNews };
    }
    const failure = { waitMs: this.#waitMs, isNews: !this.#isDown };
    this.#isDown = true;
    this.#waitMs = Math.min(2 * this.#waitMs, LAST_WAIT_MS);
    return failure;
  }

  /** @returns whether the relay did not work before */
  worked(): boolean {
    const wasDown = this.#isDown;
    this.#isDown = false;
    this.#refusal = null;
    this.#waitMs = FIRST_WAIT_MS;
    return wasDown;
  }
}
