/** Values that were used last, up to a total weight. A value never changes once it is there. */
export class WeightedCache<V> {
  readonly #weightMax: number;
  /** The value that was used longest ago comes first. */
  readonly #kept = new Map<string, { value: V; weight: number }>();
  #weight = 0;

  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  /** Takes a value out; `keep` brings it back. */
  take(key: string): V | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    this.#weight -= kept.weight;
    return kept.value;
  }

  /** Returns a value, which counts as used now. */
  use(key: string): V | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept.value;
  }

  /** Keeps a value, and drops those that were used longest ago while the total weight is too large. */
  keep(key: string, value: V, weight: number): void {
    this.take(key);
    this.#kept.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#kept.keys()) {
      if (this.#weight <= this.#weightMax) return;
      this.take(oldest);
    }
  }
}
