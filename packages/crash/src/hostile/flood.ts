import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** Many connections from one address that all send the same. */
export interface Flood {
  port: number;
  /** Address of the loopback network. */
  from: string;
  count: number;
  text: string;
  /** Whether the connections read their answers. */
  reads: boolean;
}

export interface FloodState {
  open: number;
  closed: number;
}

/** A thread that holds connections. */
export class FloodThread {
  readonly #thread = new Worker(new URL("flood-thread.ts", import.meta.url));

  open(flood: Flood): Promise<FloodState> {
    return this.#ask(flood);
  }

  look(): Promise<FloodState> {
    return this.#ask("look");
  }

  /** Closes all connections of the thread. */
  end(): Promise<FloodState> {
    return this.#ask("end");
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }

  async #ask(order: Flood | "look" | "end"): Promise<FloodState> {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#thread.postMessage(order);
    const [state] = await once(this.#thread, "message");
    return state as FloodState;
  }
}
