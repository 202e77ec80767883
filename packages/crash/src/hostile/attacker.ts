import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** A request, told so shortly that it can be sent to another thread without holding this one. */
export interface Attack {
  port: number;
  method: string;
  path: string;
  headers?: Record<string, string>;
  /** Texts, and how often each is repeated. */
  body?: readonly (readonly [text: string, times: number])[];
}

export interface Outcome {
  /** 0: there was no answer. */
  status: number;
  /** Size of the answer's body, in bytes. */
  bytes: number;
  /** How the answer begins. */
  head: string;
}

/** A client that lives in a thread of its own, and sends one request after the other. */
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
