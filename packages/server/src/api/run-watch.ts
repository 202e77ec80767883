import type { Logger } from "pino";
import type { Runtime, Timer } from "../ports/runtime.ts";

/** Interval at which a node looks for runs that a killed server or an outage has interrupted, in milliseconds. */
const LOOK_EVERY_MS = 5_000;

interface RunWatchOptions {
  runtime: Runtime;
  log: Logger;
  /** Name of the runs in the log. */
  what: string;
  /** Carries out the work of all stored runs, until none is left or the watch is closed. */
  work: () => Promise<void>;
}

/** Continues stored runs: at the start, every few seconds, and when a new one begins. One call works at a time. */
export class RunWatch {
  readonly #options: RunWatchOptions;
  #timer: Timer | null = null;
  #isWorking = false;
  #isAskedAgain = false;
  #isClosed = false;

  constructor(options: RunWatchOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  look(): void {
    void this.#look();
  }

  async #look(): Promise<void> {
    if (this.#isWorking) {
      this.#isAskedAgain = true;
      return;
    }
    this.#isWorking = true;
    this.#timer?.cancel();
    const { runtime, log, what, work } = this.#options;
    try {
      do {
        this.#isAskedAgain = false;
        await work();
      } while (this.#isAskedAgain);
    } catch (error) {
      if (!this.#isClosed) log.warn({ err: error }, `the api could not go on with ${what} and tries again`);
    }
    this.#isWorking = false;
    if (!this.#isClosed) this.#timer = runtime.setTimer(LOOK_EVERY_MS, () => this.look());
  }
}
