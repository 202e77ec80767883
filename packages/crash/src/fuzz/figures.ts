import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { cpuMs } from "../../../../tools/loop-probe.ts";
import { median } from "../median.ts";

/** Outcome of a run. */
export interface FuzzFigures {
  name: string;
  inputs: number;
  /** Number of inputs that ended their connection with a refusal. */
  refused: number;
  /**
   * Longest time that one input held the event loop, in milliseconds of the thread's own CPU time, which does not
   * depend on other load.
   */
  slowestMs: number;
  /**
   * Memory in use after a collection, in MiB: the median of five measures after the first fifth of the inputs, and of
   * the last five.
   */
  heapMib: { early: number; late: number };
  /** Inputs that threw, and uncaught errors. */
  faults: string[];
}

/** Largest growth of memory in use from the first fifth to the end, in MiB. */
const GROWTH_MAX_MIB = 16;
/** Number of measures of memory in a run. One measure is precise to about 25 MiB only. */
const MEASURES = 20;
/** Number of measures in each median. */
const MEASURES_JUDGED = 5;
/** Largest number of reported faults. */
const FAULTS_MAX = 20;

/** Feeds inputs to the code under test, and keeps the figures and faults of the run. */
export class FuzzWatch {
  readonly #figures: FuzzFigures;
  readonly #collect: () => void;
  readonly #every: number;
  readonly #measuresMib: number[] = [];
  readonly #onError = (error: unknown) => this.#fault(`nobody caught ${String(error)}`);

  constructor(name: string, inputs: number) {
    setFlagsFromString("--expose-gc");
    this.#collect = runInNewContext("gc") as () => void;
    this.#every = Math.ceil(inputs / MEASURES);
    this.#figures = { name, inputs: 0, refused: 0, slowestMs: 0, heapMib: { early: 0, late: 0 }, faults: [] };
    process.on("uncaughtException", this.#onError).on("unhandledRejection", this.#onError);
  }

  refused(): void {
    this.#figures.refused++;
  }

  /** Passes one input to the receiver and measures it. */
  hear(bytes: Buffer, hear: (bytes: Buffer) => void): void {
    const beganMs = cpuMs();
    try {
      hear(bytes);
    } catch (error) {
      this.#fault(`${String((error as Error).stack)} at the input ${bytes.toString("base64").slice(0, 400)}`);
    }
    this.#figures.slowestMs = Math.max(this.#figures.slowestMs, cpuMs() - beganMs);
    if (++this.#figures.inputs % this.#every === 0) this.#measuresMib.push(this.#heapMib());
  }

  end(): FuzzFigures {
    const first = MEASURES / 5;
    const early = median(this.#measuresMib.slice(first, first + MEASURES_JUDGED));
    this.#figures.heapMib = { early, late: median(this.#measuresMib.slice(-MEASURES_JUDGED)) };
    process.off("uncaughtException", this.#onError).off("unhandledRejection", this.#onError);
    return this.#figures;
  }

  #heapMib(): number {
    this.#collect();
    const { heapUsed, external } = process.memoryUsage();
    return Math.round((heapUsed + external) / 2 ** 20);
  }

  #fault(what: string): void {
    if (this.#figures.faults.length < FAULTS_MAX) this.#figures.faults.push(what);
  }
}

/** Faults found in a run; empty: none. */
export function complaintsOf({ faults, heapMib }: FuzzFigures): string[] {
  const growth = heapMib.late - heapMib.early;
  if (growth <= GROWTH_MAX_MIB) return faults;
  return [...faults, `memory grew by ${growth} MiB, from ${heapMib.early} to ${heapMib.late}`];
}
