import type { Runtime } from "../runtime.ts";
import type { FailedAttempt } from "./worker-hooks.ts";

/** Number of failed attempts that a worker logs within `WINDOW_MS`; the log only counts further ones. */
const LINES_MAX = 20;
const WINDOW_MS = 60_000;
const MESSAGE_MAX_CHARS = 500;

/** Logs failed attempts in a bounded number of lines. */
export class FailureLog {
  readonly #runtime: Runtime;
  readonly #warn: (message: string) => void;
  #count = 0;

  constructor(runtime: Runtime, warn: (message: string) => void) {
    this.#runtime = runtime;
    this.#warn = warn;
  }

  add(failed: FailedAttempt): void {
    if (failed.outcome !== "FAILED" && failed.outcome !== "TIMED_OUT") return;
    if (++this.#count === 1) this.#runtime.setTimer(WINDOW_MS, () => this.#endWindow());
    if (this.#count <= LINES_MAX) this.#warn(failureText(failed));
  }

  #endWindow(): void {
    const untold = this.#count - LINES_MAX;
    this.#count = 0;
    if (untold > 0) this.#warn(`${untold} more attempts failed within the last minute`);
  }
}

function failureText({
  executionId,
  attempt,
  handler,
  failures,
  maxAttempts,
  traceparent,
  error,
  outcome,
  durationMs,
}: FailedAttempt): string {
  const what = outcome === "TIMED_OUT" ? "timed out" : "failed";
  const why =
    error === null ? "" : `: ${error.name}: ${error.message.slice(0, MESSAGE_MAX_CHARS)}${placeOf(error.stack)}`;
  const [, traceId, spanId] = traceparent?.split("-") ?? [];
  const trace = traceId === undefined ? "" : `, trace_id ${traceId}, span_id ${spanId}`;
  const which = `attempt ${attempt} of execution ${executionId} (handler "${handler}"${trace})`;
  return `${which} ${what} after ${Math.round(durationMs)} ms, failure ${failures + 1} of at most ${maxAttempts}${why}`;
}

/** Position of the program's line that threw the error; empty: not known. */
function placeOf(stack: string | undefined): string {
  const place = stack?.split("\n").find((line) => /^ +at /.test(line));
  return place === undefined ? "" : ` (${place.trim()})`;
}
