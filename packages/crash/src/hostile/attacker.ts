import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** Short description of a request, which can be sent to another thread without blocking this one. */
export interface Attack {
  port: number;
  method: string;
  path: string;
  headers?: Record<string, string>;
  /** Texts of the body, each with its number of repetitions. */
  body?: readonly (readonly [text: string, times: number])[];
}

export interface Outcome {
  /** Status; 0: there was no answer. */
  status: number;
  /** Size of the answer's body, in bytes. */
  bytes: number;
  /** Beginning of the answer. */
  head: string;
}

/** A client in a thread of its own, which sends one request after the other. */
export class Attacker {
  readonly #thread = new Worker(new URL("attacker-thread.ts", import.meta.url));

  async send(attack: Attack): Promise<Outcome> {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#thread.postMessage(attack);
    const [outcome] = await once(this.#thread, "message");
    return outcome as Outcome;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}
