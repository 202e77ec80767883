import type { ForkedWorker } from "./forked-worker.ts";

/** Worker processes of a running contender: the first one, and later ones. */
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

  /** Stops the first worker process; later ones are measured. */
  readonly hold = (): Promise<void> => this.#first.stop();

  readonly release = (): Promise<void> => this.#first.start();

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#all) await worker[Symbol.asyncDispose]();
  }
}
