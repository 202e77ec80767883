import type { Runtime } from "../ports/runtime.ts";

/** Largest number of wrong keys of an address in a second. */
export const WRONG_TRIES_PER_SEC = 20;
/** Largest number of addresses that are counted apart in a second. All others are counted together. */
const ADDRESSES_MAX = 10_000;
/** Largest number of right credentials that are remembered. */
const RIGHT_MAX = 1_000;

/**
 * Counts wrong keys by address. Beyond the limit, the server does not even hash a credential of the address, unless it was right
 * before: clients behind one proxy share an address with whoever guesses.
 */
export class WrongTries {
  readonly #runtime: Pick<Runtime, "monotonicMs">;
  #second = Number.NEGATIVE_INFINITY;
  #counts = new Map<string, number>();
  /** Tries that are not judged yet, by address. */
  readonly #open = new Map<string, number>();
  #right = new Set<string>();

  constructor(runtime: Pick<Runtime, "monotonicMs">) {
    this.#runtime = runtime;
  }

  /** Whether a credential may be looked up. */
  allows(address: string, credential: string): boolean {
    if (this.#counts.size + this.#open.size === 0) return true;
    this.#turn();
    const tries = (this.#counts.get(this.#bucketOf(address)) ?? 0) + (this.#open.get(address) ?? 0);
    return tries < WRONG_TRIES_PER_SEC || this.#right.has(credential);
  }

  /** Counts a try that is not judged yet, until `close`. */
  open(address: string): void {
    this.#open.set(address, (this.#open.get(address) ?? 0) + 1);
  }

  close(address: string): void {
    const left = (this.#open.get(address) ?? 0) - 1;
    if (left > 0) this.#open.set(address, left);
    else this.#open.delete(address);
  }

  wrong(address: string, credential: string): void {
    this.#turn();
    this.#right.delete(credential);
    const bucket = this.#bucketOf(address);
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1);
  }

  right(credential: string): void {
    if (this.#right.has(credential)) return;
    if (this.#right.size >= RIGHT_MAX) this.#right.clear();
    this.#right.add(credential);
  }

  #turn(): void {
    const second = Math.floor(this.#runtime.monotonicMs() / 1_000);
    if (second === this.#second) return;
    this.#second = second;
    this.#counts = new Map();
  }

  #bucketOf(address: string): string {
    return this.#counts.has(address) || this.#counts.size < ADDRESSES_MAX ? address : "";
  }
}
