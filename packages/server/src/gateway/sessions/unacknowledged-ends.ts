import { attemptKey } from "../../domain/ids.ts";
import type { FinishedAttempt, Token } from "../../ports/messages.ts";
import { RESEND_AFTER_MS } from "../limits.ts";

interface Reported {
  end: FinishedAttempt;
  /** Time of the last report to the owner, on the monotonic clock. */
  saidAtMs: number;
}

/**
 * Ends of attempts that the worker does not report, or reports only once: the gateway did not deliver the attempt, or
 * failed it, or the worker handed it back. Only the gateway knows these ends, so it repeats each report until the owner
 * has answered.
 */
export class UnacknowledgedEnds {
  readonly #reported = new Map<string, Reported>();

  get isEmpty(): boolean {
    return this.#reported.size === 0;
  }

  add(end: FinishedAttempt, nowMs: number): void {
    this.#reported.set(attemptKey(end.executionId, end.attempt), { end, saidAtMs: nowMs });
  }

  /** Removes an attempt whose owner has answered. */
  delete(token: Token): void {
    if (!this.isEmpty) this.#reported.delete(attemptKey(token.executionId, token.attempt));
  }

  /** Ends whose report must be repeated now. */
  *overdue(nowMs: number): Generator<FinishedAttempt> {
    for (const reported of this.#reported.values()) {
      if (nowMs - reported.saidAtMs < RESEND_AFTER_MS) continue;
      reported.saidAtMs = nowMs;
      yield reported.end;
    }
  }
}
