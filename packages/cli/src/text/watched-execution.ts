import {
  type AttemptRecord,
  type ExecutionEvent,
  type ExecutionState,
  type ExecutionSummary,
  printable,
} from "@mainspring/sdk";
import { bar } from "./live-lines.ts";
import { logLine } from "./log-text.ts";

/** Known state of an execution that is followed, for people. */
export class WatchedExecution {
  readonly #executionId: string;
  #state: ExecutionState | null = null;
  #fraction = 0;
  #message = "";

  constructor(executionId: string) {
    this.#executionId = executionId;
  }

  /**
   * Handles an event.
   * @param hasBar whether `line` is shown, so that progress needs no line of its own
   * @returns line to print; null: none
   */
  say(event: ExecutionEvent, hasBar: boolean): string | null {
    if (event.type === "log") return logLine(event);
    if (event.type === "state") return this.#enter(event.at, event.execution);
    if (event.type === "attempt") return attemptLine(event.record);
    // Progress proves that the execution runs; the event of its state may come a second later.
    this.#state = "RUNNING";
    this.#fraction = event.fraction;
    this.#message = printable(event.message);
    return hasBar ? null : `${event.at}  ${bar(event.fraction)}  ${this.#message}`.trimEnd();
  }

  /** Progress on one line. */
  line(): string {
    return `${this.#executionId}  ${(this.#state ?? "").padEnd(9)}  ${bar(this.#fraction, 12)}  ${this.#message}`.trimEnd();
  }

  #enter(at: string, { state, reason, attempt, failures, assignedWorker }: ExecutionSummary): string {
    // The progress of a new attempt starts at zero.
    if (state !== this.#state) {
      this.#fraction = state === "SUCCEEDED" ? 1 : 0;
      this.#message = "";
    }
    this.#state = state;
    const details = [
      reason === null ? "" : `(${reason})`,
      attempt > 0 ? `attempt ${attempt}` : "",
      failures > 0 ? `${failures} failed` : "",
      state === "RUNNING" && assignedWorker !== null ? `on ${assignedWorker}` : "",
    ];
    return [`${at}  ${state}`, ...details.filter((detail) => detail !== "")].join("  ");
  }
}

function attemptLine({ attempt, state, workerId, finishedAt, error }: AttemptRecord): string {
  const why = error === null ? "" : `: ${error.name}: ${error.message}`;
  return printable(`${finishedAt}  attempt ${attempt} ${state}  on ${workerId}${why}`);
}
