/** A set of indexes that gives out the smallest first. Memory: one bit for each possible index. */
export class PositionSet {
  readonly #words: Uint32Array;
  /** Index of a word; all words before it are 0. */
  #from = 0;
  #size = 0;

  /** @param length one more than the largest index */
  constructor(length: number) {
    this.#words = new Uint32Array(Math.ceil(length / 32));
  }

  get size(): number {
    return this.#size;
  }

  /** @param position not in the set */
  add(position: number): void {
    const word = position >>> 5;
    (this.#words[word] as number) |= 1 << (position & 31);
    this.#from = Math.min(this.#from, word);
    this.#size++;
  }

  /** @param position in the set */
  delete(position: number): void {
    (this.#words[position >>> 5] as number) &= ~(1 << (position & 31));
    this.#size--;
  }

  /** The smallest index. The set must not be empty. */
  first(): number {
    while (this.#words[this.#from] === 0) this.#from++;
    const word = this.#words[this.#from] as number;
    return 32 * this.#from + 31 - Math.clz32(word & -word);
  }
}
