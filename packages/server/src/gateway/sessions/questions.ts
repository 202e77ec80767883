import type { Ask } from "@mainspring/proto";
import type { Incarnation } from "../../domain/ids.ts";
import type { Token } from "../../ports/messages.ts";
import { ANSWER_WITHIN_MS, DOUBT_AFTER_MS, DOUBTS_MAX } from "../limits.ts";
import type { Owners } from "../owners.ts";
import { askOf } from "../translate.ts";
import type { HeldAttempts } from "./held.ts";

/** A question to one worker about the attempts that it holds. */
export interface Question {
  readonly askedAtMs: number;
  /** Owners that wait for the answer, with their terms at the time of the question. */
  readonly owners: ReadonlyMap<Incarnation, number>;
  /** Attempts that the question is about; null: all attempts of the worker. */
  readonly tokens: readonly Token[] | null;
}

/**
 * Questions to one worker over its present connection. A worker reads messages in order, so its answer to a question
 * covers everything that was sent before the question, and settles every earlier question.
 */
export class Questions {
  readonly #open = new Map<number, Question>();
  /** Owners that want to know all attempts of the worker. The next message to the worker asks for them. */
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

  /** Requests a question about all attempts of the worker, for this owner. */
  want(owner: Incarnation): void {
    this.#asking.add(owner);
  }

  /** Requests a question about attempts that should have started by now, at most once in `DOUBT_AFTER_MS`. */
  doubt(held: HeldAttempts, nowMs: number): void {
    if (held.waiting === 0 || nowMs - this.#doubtedAtMs < DOUBT_AFTER_MS) return;
    this.#doubtedAtMs = nowMs;
    for (const { state, sentAtMs, token } of held) {
      if (state !== "ASSIGNED" || nowMs - sentAtMs < DOUBT_AFTER_MS) continue;
      if (this.#doubts.push(token) === DOUBTS_MAX) return;
    }
  }

  /** Removes and returns the waiting question, for the next message to the worker; null: none waits. */
  take(owners: Owners, nowMs: number): Ask | null {
    if (!this.isWanted) return null;
    const terms = new Map(Array.from(this.#asking, (owner) => [owner, owners.termOf(owner)]));
    const tokens = terms.size > 0 ? null : this.#doubts;
    this.#open.set(this.#next, { askedAtMs: nowMs, owners: terms, tokens });
    this.#asking.clear();
    this.#doubts = [];
    return askOf(this.#next++, tokens ?? [], owners.epochs());
  }

  /** @returns the answered question; null: no question has this number over this connection */
  answered(nonce: number): Question | null {
    const question = this.#open.get(nonce) ?? null;
    if (question === null) return null;
    for (const older of this.#open.keys()) if (older <= nonce) this.#open.delete(older);
    return question;
  }

  /**
   * Whether the worker ignores a question: it has left it unanswered for twice the time that an answer may take, and
   * has sent other messages meanwhile.
   */
  isIgnored(nowMs: number, heardAtMs: number): boolean {
    const [oldest] = this.#open.values();
    if (oldest === undefined || nowMs - oldest.askedAtMs < 2 * ANSWER_WITHIN_MS) return false;
    return heardAtMs - oldest.askedAtMs >= ANSWER_WITHIN_MS;
  }

  /** Drops all questions, because the connection is over and none will be answered. */
  clear(): void {
    this.#open.clear();
    this.#asking.clear();
    this.#doubts = [];
  }
}
