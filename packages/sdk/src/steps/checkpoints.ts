import { type Deferred, deferred } from "../deferred.ts";
import type { Checkpoint } from "./step-context.ts";
import { checkpointData, valueOf } from "./step-data.ts";

/** Checkpoints of one attempt: at most one is on its way, and newer ones replace each other meanwhile. */
export class Checkpoints {
  readonly #send: (data: string) => Promise<void>;
  /** JSON text of the newest value; empty: undefined, or none. */
  #last: string;
  #isSending = false;
  /** Newest value that waits for the one on its way; null: none. */
  #next: { data: string; done: Deferred<void> } | null = null;

  /**
   * @param last newest checkpoint of earlier attempts as JSON text; empty: none
   * @param send sends JSON text, and resolves when it is durable
   */
  constructor(last: string, send: (data: string) => Promise<void>) {
    this.#last = last;
    this.#send = send;
  }

  /** The function that handlers get as `ctx.checkpoint`. */
  asFunction(): Checkpoint {
    const save = (value: unknown): Promise<void> => {
      const saved = this.#save(value);
      // A handler need not await the promise, so its rejection must not end the process.
      saved.catch(() => undefined);
      return saved;
    };
    return Object.defineProperty(save, "last", { get: () => valueOf(this.#last) }) as unknown as Checkpoint;
  }

  /** Sends the newest value at once, because the attempt ends. */
  flush(): void {
    this.#isSending = false;
    this.#sendNext();
  }

  async #save(value: unknown): Promise<void> {
    const data = checkpointData(value);
    this.#last = data;
    this.#next ??= { data, done: deferred() };
    this.#next.data = data;
    const { done } = this.#next;
    this.#sendNext();
    await done.promise;
  }

  #sendNext(): void {
    const next = this.#next;
    if (this.#isSending || next === null) return;
    this.#isSending = true;
    this.#next = null;
    const sent = this.#send(next.data);
    next.done.resolve(sent);
    const goOn = () => {
      this.#isSending = false;
      this.#sendNext();
    };
    sent.then(goOn, goOn);
  }
}
