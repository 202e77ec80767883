import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Outcome of a run. */
export interface FuzzFigures {
  name: string;
  inputs: number;
  /** Inputs that ended their connection with a refusal. */
  refused: number;
  /** The longest time that one input held the loop, ms of the thread's own time: how busy the machine is does not count. */
  slowestMs: number;
  /** Memory in use after a collection, MiB: the median of five measures after the first fifth of the inputs, and of the last five. */
  heapMib: { early: number; late: number };
  /** Inputs that threw, and errors that nobody caught. */
  faults: string[];
}

/** How much memory may be in use more at the end than after the first fifth, MiB. */
const GROWTH_MAX_MIB = 16;
/** Measures of memory in a run. One measure tells memory in use to some 25 MiB only. */
const MEASURES = 20;
/** Measures of which the median counts. */
const MEASURES_JUDGED = 5;
/** More are not told. */
const FAULTS_MAX = 20;

/** Counts while a run goes on. */
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

  /** Lets one input be heard. */
  hear(bytes: Buffer, hear: (bytes: Buffer) => void): void {
    const began = process.threadCpuUsage();
    try {
      hear(bytes);
    } catch (error) {
      this.#fault(`${String((error as Error).stack)} at the input ${bytes.toString("base64").slice(0, 400)}`);
    }
    const { user, system } = process.threadCpuUsage(began);
    this.#figures.slowestMs = Math.max(this.#figures.slowestMs, (user + system) / 1_000);
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

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
