import type { Logger } from "pino";

interface Part {
  name: string;
  stop(): Promise<void>;
}

/** Parts of a node, started one after the other and stopped in the opposite order. */
export class Lifecycle {
  readonly #log: Logger;
  readonly #started: Part[] = [];
  #stopping: Promise<void> | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Registers a part. Call it as soon as the part runs. */
  started(name: string, stop: () => Promise<void>): void {
    this.#started.push({ name, stop });
  }

  get isStopping(): boolean {
    return this.#stopping !== null;
  }

  /**
   * Stops all registered parts. A part that fails to stop is logged, and the others are still stopped. Repeated calls
   * do nothing.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (const { name, stop } of this.#started.toReversed()) {
      try {
        await stop();
        this.#log.debug({ part: name }, "stopped");
      } catch (error) {
        this.#log.error({ err: error, part: name }, "a part of the node failed to stop; the others go on stopping");
      }
    }
  }
}
