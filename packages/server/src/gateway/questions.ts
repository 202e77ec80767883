import type { Incarnation } from "../domain/ids.ts";
import type { Token } from "../ports/messages.ts";
import { ANSWER_WITHIN_MS } from "./limits.ts";

/** A question to one worker: what do you hold? */
export interface Question {
  readonly askedAtMs: number;
  /** Owners that wait for the answer, with their term at the time of the question. */
  readonly owners: ReadonlyMap<Incarnation, number>;
  /** The attempts in question; null: all. */
  readonly tokens: readonly Token[] | null;
}

/**
 * Questions to one worker over its present connection. A worker reads what it is sent in order, so its answer to a question
 * tells of everything that was sent before that question, and settles every earlier question too.
 */
export class Questions {
  readonly #open = new Map<number, Question>();
  #next = 1;

  /** Number of the next question. */
  get next(): number {
    return this.#next;
  }

  /** @returns the number of the question */
  ask(question: Question): number {
    this.#open.set(this.#next, question);
    return this.#next++;
  }

  /** @returns null: nobody asked, or not over this connection */
  answered(nonce: number): Question | null {
    const question = this.#open.get(nonce) ?? null;
    if (question === null) return null;
    for (const older of this.#open.keys()) if (older <= nonce) this.#open.delete(older);
    return question;
  }

  /** Whether the worker has been heard since a question that it has not answered for twice the time that an answer takes. */
  isIgnored(nowMs: number, heardAtMs: number): boolean {
    const [oldest] = this.#open.values();
    if (oldest === undefined || nowMs - oldest.askedAtMs < 2 * ANSWER_WITHIN_MS) return false;
    return heardAtMs - oldest.askedAtMs >= ANSWER_WITHIN_MS;
  }

  /** The connection is over, and so are the answers. */
  clear(): void {
    this.#open.clear();
  }
}
