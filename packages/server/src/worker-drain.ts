import type { Logger } from "pino";
import type { Gateway } from "./gateway/gateway.ts";

/** A worker inside the server, which cannot move to another node: it ends, and a new one replaces it later. */
export interface InnerWorker {
  start(): Promise<void>;
  /** Takes no more work, finishes or hands back its attempts, and ends. */
  stop(): Promise<void>;
}

/** Sends a drained node's workers away: external workers go to other nodes, and the built-in worker ends. */
export class WorkerDrain {
  readonly #gateway: Gateway;
  readonly #log: Logger;
  readonly #makeWorker: (() => InnerWorker) | null;
  #worker: InnerWorker | null = null;
  #isDraining = false;
  #isOver = false;
  #last: Promise<void> = Promise.resolve();

  /** @param makeWorker null: the node has no built-in worker */
  constructor(gateway: Gateway, makeWorker: (() => InnerWorker) | null, log: Logger) {
    this.#gateway = gateway;
    this.#makeWorker = makeWorker;
    this.#log = log;
  }

  /** Starts the built-in worker. Resolves when the gateway has accepted it. */
  start(): Promise<void> {
    return this.#after(() => this.#startWorker());
  }

  /** Applies the drain state. The caller repeats it; only a change has an effect. */
  look(isDraining: boolean): void {
    if (isDraining === this.#isDraining || this.#isOver) return;
    this.#isDraining = isDraining;
    this.#log.info(isDraining ? "the gateway sends its workers to other nodes" : "the gateway takes workers again");
    this.#gateway.drain(isDraining);
    this.#after(() => (isDraining ? this.#stopWorker() : this.#startWorker())).catch((error: unknown) => {
      this.#log.error({ err: error }, "the node could not start or stop its built-in worker");
    });
  }

  stop(): Promise<void> {
    this.#isOver = true;
    // Stopping runs beside the changes in progress: a worker that is already stopping is asked once more, with the same
    // time limit.
    return this.#stopWorker();
  }

  /** Runs changes one after the other. */
  #after(change: () => Promise<void>): Promise<void> {
    const next = this.#last.then(change);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #startWorker(): Promise<void> {
    if (this.#isOver || this.#isDraining || this.#makeWorker === null || this.#worker !== null) return;
    this.#worker = this.#makeWorker();
    await this.#worker.start();
  }

  async #stopWorker(): Promise<void> {
    const worker = this.#worker;
    await worker?.stop();
    if (this.#worker === worker) this.#worker = null;
  }
}
