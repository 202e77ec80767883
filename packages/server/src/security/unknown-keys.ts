import type { Runtime } from "../ports/runtime.ts";
import type { KeyRing, RingKey } from "./key-ring.ts";

/** Shortest time between two questions to the store about unknown keys, in milliseconds. */
const PACE_MS = 100;
/** Largest number of callers that wait for such a question. */
const WAITING_MAX = 1_000;
/** Largest number of wrong keys that are remembered. */
const WRONG_MAX = 10_000;

/**
 * Looks keys up that this node does not know, because another node may have created them a moment ago. All callers of
 * `PACE_MS` share one question, which costs the store as much as the one of each second. A key that was wrong once is wrong for
 * good: keys are random, so a later one does not have its text, and a key that comes back with a restored store is found in
 * the ring.
 */
export class UnknownKeys {
  readonly #ring: Pick<KeyRing, "refresh" | "byHash" | "isSound">;
  readonly #runtime: Pick<Runtime, "monotonicMs" | "setTimer">;
  readonly #wrong = new Set<string>();
  #question: Promise<boolean> | null = null;
  #waiting = 0;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    ring: Pick<KeyRing, "refresh" | "byHash" | "isSound">,
    runtime: Pick<Runtime, "monotonicMs" | "setTimer">,
  ) {
    this.#ring = ring;
    this.#runtime = runtime;
  }

  /** Whether `find` may find the key. */
  mayExist(hash: string): boolean {
    return !this.#wrong.has(hash) && this.#waiting < WAITING_MAX;
  }

  /** @returns undefined: the store has no such key; null: the store could not be asked */
  async find(hash: string): Promise<RingKey | undefined | null> {
    this.#waiting++;
    const isAnswered = await (this.#question ??= this.#ask());
    this.#waiting--;
    const key = this.#ring.byHash(hash);
    if (key !== undefined) return key;
    if (!isAnswered) return null;
    if (this.#wrong.size >= WRONG_MAX) this.#wrong.clear();
    this.#wrong.add(hash);
    return undefined;
  }

  /** @returns whether the store answered */
  async #ask(): Promise<boolean> {
    await this.#pause();
    // Callers that come from now on need a later question.
    this.#question = null;
    this.#askedAtMs = this.#runtime.monotonicMs();
    await this.#ring.refresh();
    return this.#ring.isSound;
  }

  async #pause(): Promise<void> {
    const leftMs = this.#askedAtMs + PACE_MS - this.#runtime.monotonicMs();
    if (leftMs > 0) await new Promise<void>((resolve) => this.#runtime.setTimer(leftMs, resolve));
  }
}
