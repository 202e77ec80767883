import type { Logger } from "pino";
import type { Gateway } from "./gateway/gateway.ts";

/** A worker inside the server, which cannot go elsewhere: it is ended, and a new one made. */
export interface InnerWorker {
  start(): Promise<void>;
  /** Takes no more work, finishes what it runs or hands it back, and ends. */
  stop(): Promise<void>;
}

/** Sends a drained node's workers away: external workers go to other nodes, and the built-in worker ends. */
export class Parting {
  readonly #gateway: Gateway;
  readonly #log: Logger;
  readonly #makeWorker: (() => InnerWorker) | null;
  #worker: InnerWorker | null = null;
  #isParting = false;
  #isOver = false;
  #last: Promise<void> = Promise.resolve();

  /** @param makeWorker null: there is to be none */
  constructor(gateway: Gateway, makeWorker: (() => InnerWorker) | null, log: Logger) {
    this.#gateway = gateway;
    this.#makeWorker = makeWorker;
    this.#log = log;
  }

  /** Resolves when the worker of its own has been taken. */
  start(): Promise<void> {
    return this.#after(() => this.#startWorker());
  }

  /** To be told again and again; only a change does something. */
  look(isParting: boolean): void {
    if (isParting === this.#isParting || this.#isOver) return;
    this.#isParting = isParting;
    this.#log.info(isParting ? "the gateway sends its workers to other nodes" : "the gateway takes workers again");
    this.#gateway.drain(isParting);
    this.#after(() => (isParting ? this.#stopWorker() : this.#startWorker())).catch((error: unknown) => {
      this.#log.error({ err: error }, "the node could not start or stop its built-in worker");
    });
  }

  stop(): Promise<void> {
    this.#isOver = true;
    // Beside what still goes on: a worker that is just being stopped is asked once more, with the same limit of time.
    return this.#stopWorker();
  }

  /** One after the other. */
  #after(change: () => Promise<void>): Promise<void> {
    const next = this.#last.then(change);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #startWorker(): Promise<void> {
    if (this.#isOver || this.#isParting || this.#makeWorker === null || this.#worker !== null) return;
    this.#worker = this.#makeWorker();
    await this.#worker.start();
  }

  async #stopWorker(): Promise<void> {
    const worker = this.#worker;
    await worker?.stop();
    if (this.#worker === worker) this.#worker = null;
  }
}
