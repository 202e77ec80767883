import type { Logger } from "pino";
import type { FinishedAttempt } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Held } from "./sessions/held.ts";

/** Failed attempts that a gateway logs within `WINDOW_MS`. It only counts the rest. */
const LINES_MAX = 20;
const WINDOW_MS = 60_000;
const MESSAGE_MAX_CHARS = 500;

/** Logs the failed attempts of a gateway's workers, in a bounded number of lines. */
export class FailedAttemptsLog {
  readonly #log: Logger;
  readonly #runtime: Runtime;
  #windowBeganMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(log: Logger, runtime: Runtime) {
    this.#log = log;
    this.#runtime = runtime;
  }

  /** @param held the attempt as this gateway knows it; null: it does not */
  add(
    { executionId, attempt, workerId, state, error }: FinishedAttempt,
    held: Pick<Held, "handler" | "traceparent"> | null,
  ): void {
    if (state !== "FAILED" && state !== "TIMED_OUT") return;
    const nowMs = this.#runtime.monotonicMs();
    if (nowMs - this.#windowBeganMs >= WINDOW_MS) this.#begin(nowMs);
    if (++this.#count > LINES_MAX) return;
    const message = error?.message.slice(0, MESSAGE_MAX_CHARS);
    const [, trace_id, span_id] = held?.traceparent?.split("-") ?? [];
    const trace = trace_id !== undefined && { trace_id, span_id };
    const handler = held?.handler ?? null;
    const facts = { executionId, attempt, ...trace, workerId, handler, state, error: error?.name, message };
    this.#log.info(
      facts,
      "an attempt failed at its worker; the retry policy of the job decides whether another one follows",
    );
  }

  /**
   * Starts a new window. No timer does it, so the number of attempts that were not logged is logged with the next
   * failure.
   */
  #begin(nowMs: number): void {
    const untold = this.#count - LINES_MAX;
    if (untold > 0) this.#log.info({ untold }, "more attempts failed than this gateway logs in a minute");
    this.#windowBeganMs = nowMs;
    this.#count = 0;
  }
}
