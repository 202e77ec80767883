import type { Attempt, Listener } from "./attempt.ts";
import type { Runtime } from "./runtime.ts";
import type { LogReport, ProgressReport } from "./work.ts";

const FLUSH_MS = 100;
const LINES_MAX = 1_000;
const TEXT_MAX_CHARS = 8 * 1024;

/**
 * Progress and log lines of running attempts: nice to have, so bounded, and collected for a tenth of a second. A handler
 * that talks in a tight loop must not keep results from being heard.
 */
export class Chatter implements Listener {
  readonly #runtime: Runtime;
  readonly #flush: () => void;
  #progress = new Map<Attempt, ProgressReport>();
  #logs: LogReport[] = [];
  #isTimerSet = false;

  /** @param flush called some time after something was said; expected to `take()` */
  constructor(runtime: Runtime, flush: () => void) {
    this.#runtime = runtime;
    this.#flush = flush;
  }

  progress(attempt: Attempt, fraction: number, message: string): void {
    if (attempt.phase !== "RUNNING") return;
    const bounded = Math.min(1, Math.max(0, Number(fraction) || 0));
    const text = String(message).slice(0, TEXT_MAX_CHARS);
    this.#progress.set(attempt, { ...attempt.ref, fraction: bounded, message: text });
    this.#setTimer();
  }

  log(attempt: Attempt, line: string): void {
    if (attempt.phase !== "RUNNING" || this.#logs.length >= LINES_MAX) return;
    this.#logs.push({ ...attempt.ref, atMs: this.#runtime.now(), line: String(line).slice(0, TEXT_MAX_CHARS) });
    this.#setTimer();
  }

  /** All that was said since the last time. */
  take(): { progress: readonly ProgressReport[]; logs: readonly LogReport[] } {
    if (this.#progress.size === 0 && this.#logs.length === 0) return NOTHING;
    const taken = { progress: [...this.#progress.values()], logs: this.#logs };
    this.#progress = new Map();
    this.#logs = [];
    return taken;
  }

  #setTimer(): void {
    if (this.#isTimerSet) return;
    this.#isTimerSet = true;
    this.#runtime.setTimer(FLUSH_MS, () => {
      this.#isTimerSet = false;
      this.#flush();
    });
  }
}

const NOTHING = { progress: [], logs: [] };
