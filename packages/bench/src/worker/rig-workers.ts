import type { ForkedWorker } from "./forked-worker.ts";

/** The workers' processes of a contender that is set up: the one it began with, and those that came later. */
export class RigWorkers implements AsyncDisposable {
  readonly #first: ForkedWorker;
  readonly #all: ForkedWorker[];
  readonly #open: () => Promise<ForkedWorker>;

  constructor(first: ForkedWorker, open: () => Promise<ForkedWorker>) {
    this.#first = first;
    this.#all = [first];
    this.#open = open;
  }

  get pids(): number[] {
    return this.#all.map(({ pid }) => pid);
  }

  readonly another = async (): Promise<ForkedWorker> => {
    const worker = await this.#open();
    this.#all.push(worker);
    return worker;
  };

  /** Stops the first one: others come later, to be measured. */
  readonly hold = (): Promise<void> => this.#first.stop();

  readonly release = (): Promise<void> => this.#first.start();

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#all) await worker[Symbol.asyncDispose]();
  }
}
