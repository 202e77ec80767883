import { invariant } from "../../domain/invariant.ts";

/** Size at which a bucket is divided. Moving this many pointers costs less than a more complex structure. */
const BUCKET_MAX = 512;

/**
 * Items in order, each once: the index of a simulated table. Adding, deleting and finding cost a binary search and the
 * move of one bucket, however many items there are.
 * @typeParam K part of an item that decides its position; lookups need only this part
 */
export class SortedList<K, T extends K = K> {
  readonly #compare: (a: K, b: K) => number;
  readonly #buckets: T[][] = [];
  #size = 0;

  /** @param compare negative, 0 or positive; 0 only for the same item */
  constructor(compare: (a: K, b: K) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    const index = Math.min(this.#bucketOf(item), Math.max(this.#buckets.length - 1, 0));
    const bucket = this.#buckets[index];
    this.#size++;
    if (bucket === undefined) {
      this.#buckets.push([item]);
      return;
    }
    const at = this.#placeIn(bucket, item);
    const there = bucket[at];
    invariant(there === undefined || this.#compare(there, item) !== 0, "an index has an item once");
    bucket.splice(at, 0, item);
    if (bucket.length > BUCKET_MAX) this.#buckets.splice(index + 1, 0, bucket.splice(bucket.length >> 1));
  }

  /** @returns whether the list had the item */
  delete(key: K): boolean {
    const index = this.#bucketOf(key);
    const bucket = this.#buckets[index];
    if (bucket === undefined) return false;
    const at = this.#placeIn(bucket, key);
    if (this.#compare(bucket[at] as T, key) !== 0) return false;
    bucket.splice(at, 1);
    if (bucket.length === 0) this.#buckets.splice(index, 1);
    this.#size--;
    return true;
  }

  /**
   * Visits the items after the key, or all items, in order. @param visit return false to stop; must not change the list
   */
  ascend(after: K | null, visit: (item: T) => boolean): void {
    const first = after === null ? 0 : this.#bucketOf(after);
    for (let index = first; index < this.#buckets.length; index++) {
      const bucket = this.#buckets[index] as T[];
      let at = after === null || index > first ? 0 : this.#placeIn(bucket, after);
      if (after !== null && index === first && this.#compare(bucket[at] as T, after) === 0) at++;
      for (; at < bucket.length; at++) if (!visit(bucket[at] as T)) return;
    }
  }

  /**
   * Visits the items before the key, or all items, backwards. @param visit return false to stop; must not change the
   * list
   */
  descend(before: K | null, visit: (item: T) => boolean): void {
    const last = before === null ? this.#buckets.length : this.#bucketOf(before);
    for (let index = Math.min(last, this.#buckets.length - 1); index >= 0; index--) {
      const bucket = this.#buckets[index] as T[];
      const end = before !== null && index === last ? this.#placeIn(bucket, before) : bucket.length;
      for (let at = end - 1; at >= 0; at--) if (!visit(bucket[at] as T)) return;
    }
  }

  /** Index of the first bucket that does not end before the key; the number of buckets if there is none. */
  #bucketOf(key: K): number {
    let low = 0;
    let high = this.#buckets.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const bucket = this.#buckets[middle] as T[];
      if (this.#compare(bucket[bucket.length - 1] as T, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Index of the first item that does not come before the key; the bucket's length if there is none. */
  #placeIn(bucket: readonly T[], key: K): number {
    let low = 0;
    let high = bucket.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(bucket[middle] as T, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
