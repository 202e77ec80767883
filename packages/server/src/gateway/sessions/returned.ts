import { attemptKey } from "../../domain/ids.ts";
import type { FinishedAttempt, Token } from "../../ports/messages.ts";
import { RESEND_AFTER_MS } from "../limits.ts";

interface Returned {
  news: FinishedAttempt;
  /** Time on the monotonic clock. */
  saidAtMs: number;
}

/**
 * Attempts that came here and were not delivered to the worker. Their numbers are used, so the owner does not send them
 * again, and nobody but this gateway knows of them: it says so until the owner has heard.
 */
export class ReturnedAttempts {
  readonly #returned = new Map<string, Returned>();

  get isEmpty(): boolean {
    return this.#returned.size === 0;
  }

  add(news: FinishedAttempt, nowMs: number): void {
    this.#returned.set(attemptKey(news.executionId, news.attempt), { news, saidAtMs: nowMs });
  }

  /** The owner has heard of it. */
  delete(token: Token): void {
    if (!this.isEmpty) this.#returned.delete(attemptKey(token.executionId, token.attempt));
  }

  /** Attempts whose return is due to be repeated. */
  *overdue(nowMs: number): Generator<FinishedAttempt> {
    for (const returned of this.#returned.values()) {
      if (nowMs - returned.saidAtMs < RESEND_AFTER_MS) continue;
      returned.saidAtMs = nowMs;
      yield returned.news;
    }
  }
}
