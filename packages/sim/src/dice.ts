/** Seeded randomness: the same seed throws the same dice, for ever. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Evenly spread in [0, 1) (mulberry32). */
  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  }

  /** Whole, from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.roll() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.roll() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.roll() * items.length)] as T;
  }

  /** Mostly short, sometimes long: as networks and disks are. @param usualMs the median */
  delayMs(usualMs: number): number {
    return usualMs * (0.5 + this.roll()) * (this.chance(0.01) ? 20 : 1);
  }

  /** Dice of their own for a part, so that one part's throws do not shift another's. */
  fork(name: string): Dice {
    let seed = this.#state;
    for (let i = 0; i < name.length; i++) seed = Math.imul(seed ^ name.charCodeAt(i), 0x01000193);
    return new Dice(seed);
  }
}
