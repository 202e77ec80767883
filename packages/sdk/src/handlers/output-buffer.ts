import type { Runtime } from "../runtime.ts";
import type { LogReport, ProgressReport } from "../session/work.ts";
import type { Attempt, Listener } from "./attempt.ts";

const FLUSH_MS = 100;
const LINES_MAX = 1_000;
const TEXT_MAX_CHARS = 8 * 1024;

/**
 * Buffer for progress and log lines of running attempts. The buffer is bounded and collects for a tenth of a second, so
 * that a handler that logs in a tight loop does not hold back results.
 */
export class OutputBuffer implements Listener {
  readonly #runtime: Runtime;
  readonly #flush: () => void;
  #progress = new Map<Attempt, ProgressReport>();
  #logs: LogReport[] = [];
  #isTimerSet = false;

  /** @param flush called some time after the first entry; must call `take()` */
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

  /** Returns all entries since the last call. */
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
