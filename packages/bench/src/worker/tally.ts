import { nowMs, pause } from "../clock.ts";

/** Observations of one worker process about the jobs 0 to `expected` - 1. */
export interface TallyReport {
  /** Number of handlers that were started. */
  readonly runs: number;
  /** Number of different jobs; less than `runs` if one ran twice. */
  readonly distinct: number;
  readonly firstAtMs: number;
  /** Time of each job's first start, in milliseconds since 1970; 0: never. */
  readonly startedAtMs: Float64Array;
  /** Duration of each durable step, in milliseconds; absent: the worker knows no steps. */
  readonly stepMs?: Float64Array;
}

/** Counts the handlers that run in a worker process, job by job. */
export class Tally {
  runs = 0;
  #distinct = 0;
  #firstAtMs = 0;
  #startedAtMs = new Float64Array(0);
  #stepMs: number[] = [];

  /** Resets the counts. */
  expect(jobs: number): void {
    this.runs = 0;
    this.#distinct = 0;
    this.#firstAtMs = 0;
    this.#startedAtMs = new Float64Array(jobs);
    this.#stepMs = [];
  }

  /** Records the start of a handler. A handler with `holdMs` holds its slot for that time. */
  ran(job: { n: number; holdMs?: number }): undefined | Promise<void> {
    const atMs = nowMs();
    if (this.runs++ === 0) this.#firstAtMs = atMs;
    if (this.#startedAtMs[job.n] === 0) {
      this.#startedAtMs[job.n] = atMs;
      this.#distinct++;
    }
    const { holdMs } = job;
    return holdMs === undefined ? undefined : pause(holdMs);
  }

  /** Records a durable step, from its call until the handler goes on. */
  stepped(durationMs: number): void {
    this.#stepMs.push(durationMs);
  }

  report(): TallyReport {
    return {
      runs: this.runs,
      distinct: this.#distinct,
      firstAtMs: this.#firstAtMs,
      startedAtMs: this.#startedAtMs,
      stepMs: Float64Array.from(this.#stepMs),
    };
  }
}
