import type { Ask } from "@mainspring/proto";
import type { Incarnation } from "../../domain/ids.ts";
import type { Token } from "../../ports/messages.ts";
import { ANSWER_WITHIN_MS, DOUBT_AFTER_MS, DOUBTS_MAX } from "../limits.ts";
import type { Owners } from "../owners.ts";
import { askOf } from "../translate.ts";
import type { HeldAttempts } from "./held.ts";

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
  /** Owners that want to know all that the worker holds, with the next message to it. */
  readonly #asking = new Set<Incarnation>();
  #doubts: Token[] = [];
  #doubtedAtMs = 0;
  #next = 1;

  /** Number of the next question. */
  get next(): number {
    return this.#next;
  }

  /** Whether a question waits to be sent. */
  get isWanted(): boolean {
    return this.#asking.size + this.#doubts.length > 0;
  }

  /** The owner wants to know all that the worker holds. */
  want(owner: Incarnation): void {
    this.#asking.add(owner);
  }

  /** Attempts that should have begun are asked for, once in a while. */
  doubt(held: HeldAttempts, nowMs: number): void {
    if (held.waiting === 0 || nowMs - this.#doubtedAtMs < DOUBT_AFTER_MS) return;
    this.#doubtedAtMs = nowMs;
    for (const { state, sentAtMs, token } of held) {
      if (state !== "ASSIGNED" || nowMs - sentAtMs < DOUBT_AFTER_MS) continue;
      if (this.#doubts.push(token) === DOUBTS_MAX) return;
    }
  }

  /** The question that waits, to leave with the next message; null: none does. */
  take(owners: Owners, nowMs: number): Ask | null {
    if (!this.isWanted) return null;
    const terms = new Map(Array.from(this.#asking, (owner) => [owner, owners.termOf(owner)]));
    const tokens = terms.size > 0 ? null : this.#doubts;
    this.#open.set(this.#next, { askedAtMs: nowMs, owners: terms, tokens });
    this.#asking.clear();
    this.#doubts = [];
    return askOf(this.#next++, tokens ?? [], owners.epochs());
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
    this.#asking.clear();
    this.#doubts = [];
  }
}
