import type { FinalState } from "../execution.ts";
import { PositionSet } from "./position-set.ts";

/** Rules of a map node. */
export interface MapRules {
  /** Largest number of items that have an execution which is not final. */
  maxRunning: number;
  /** Largest number of DEAD items with which the map still succeeds. */
  tolerate: number;
}

/** Rows of the items of a counted map. */
export interface MapRows {
  node: number;
  /** Number of items of the array; at least 1. */
  size: number;
  /** Items whose executions are not final. Items that are among `ended` too have ended since they were read. */
  live: Iterable<number>;
  /** Items whose executions are final, with their state. SUCCEEDED items of earlier runs are among them. */
  ended: Iterable<readonly [FinalState, Iterable<number>]>;
}

/**
 * Items of a map that is LIVE. Memory: one bit an item, and the live items.
 *
 * The map ends when no item is live and none will follow: all items have ended, or the map was stopped. It is DEAD if
 * more items are DEAD than it tolerates, and CANCELLED if items are missing, or more than it tolerates were cancelled
 * or are DEAD.
 */
export class MapItems {
  readonly size: number;
  readonly live = new Set<number>();
  readonly #rules: MapRules;
  readonly #failsFast: boolean;
  readonly #unborn: PositionSet;
  #dead = 0;
  #cancelled = 0;

  /** @param failsFast whether the map is stopped as soon as it does not tolerate a DEAD item */
  constructor({ size, live, ended }: Omit<MapRows, "node">, rules: MapRules, failsFast: boolean) {
    this.size = size;
    this.#rules = rules;
    this.#failsFast = failsFast;
    const born = new Uint8Array(size);
    for (const [state, items] of ended) {
      for (const item of items) {
        this.#count(state);
        born[item] = 1;
      }
    }
    for (const item of live) {
      if (born[item] === 1) continue;
      this.live.add(item);
      born[item] = 1;
    }
    this.#unborn = new PositionSet(size);
    for (let item = 0; item < size; item++) if (born[item] === 0) this.#unborn.add(item);
  }

  /** Number of items that have no execution. */
  get unborn(): number {
    return this.#unborn.size;
  }

  /** Whether the map was stopped because of its DEAD items. */
  get isBroken(): boolean {
    return this.#failsFast && this.#dead > this.#rules.tolerate;
  }

  /** Whether another item may get an execution, if the run allows it. */
  get mayBegin(): boolean {
    return this.unborn > 0 && this.live.size < this.#rules.maxRunning && !this.isBroken;
  }

  /** Makes the first item without an execution live. `mayBegin` must hold. */
  begin(): number {
    const item = this.#unborn.first();
    this.#unborn.delete(item);
    this.live.add(item);
    return item;
  }

  /** @returns whether the item was live */
  end(item: number, state: FinalState): boolean {
    this.#count(state);
    return this.live.delete(item);
  }

  /**
   * End of the map.
   * @param isStopped whether the mode of the run keeps further items from starting
   * @returns null: the map goes on
   */
  outcome(isStopped: boolean): FinalState | null {
    if (this.live.size > 0 || (this.unborn > 0 && !isStopped && !this.isBroken)) return null;
    if (this.#dead > this.#rules.tolerate) return "DEAD";
    return this.unborn > 0 || this.#dead + this.#cancelled > this.#rules.tolerate ? "CANCELLED" : "SUCCEEDED";
  }

  #count(state: FinalState): void {
    if (state === "DEAD") this.#dead++;
    if (state === "CANCELLED") this.#cancelled++;
  }
}
