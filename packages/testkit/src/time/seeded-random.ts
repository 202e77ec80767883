/** Random numbers from a seed: the same seed always gives the same numbers. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Next random number, evenly spread in [0, 1) (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  }

  /** Random whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)] as T;
  }

  /**
   * Random delay, mostly short and sometimes long, as networks and disks have. @param usualMs median of the delays, in
   * milliseconds
   */
  delayMs(usualMs: number): number {
    return usualMs * (0.5 + this.next()) * (this.chance(0.01) ? 20 : 1);
  }

  /**
   * Creates a generator of its own for one part of the program, so that draws of one part do not shift those of
   * another.
   */
  fork(name: string): SeededRandom {
    let seed = this.#state;
    for (let i = 0; i < name.length; i++) seed = Math.imul(seed ^ name.charCodeAt(i), 0x01000193);
    return new SeededRandom(seed);
  }
}

/** UUIDv7 that grows with the time, and within the same millisecond with the count. */
export function simUuid(timeMs: number, count: number, random: SeededRandom): string {
  const time = timeMs.toString(16).padStart(12, "0");
  const number = (count & 0xfff).toString(16).padStart(3, "0");
  const rest = Array.from({ length: 4 }, () => random.between(0, 0xffff).toString(16).padStart(4, "0"));
  return `${time.slice(0, 8)}-${time.slice(8)}-7${number}-8${rest[0]?.slice(1)}-${rest.slice(1).join("")}`;
}
