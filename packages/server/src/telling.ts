import { isOn } from "./domain/cluster/feature-level.ts";

/**
 * Whether a node writes lifecycle events: its configuration has them on, and every node of the cluster knows them. The first
 * event keeps programs that do not know them out of the store.
 */
export class Telling {
  readonly #isWanted: boolean;
  #level: () => number = () => 0;

  constructor(isWanted: boolean) {
    this.#isWanted = isWanted;
  }

  /** Sets where the cluster's feature level comes from. Before that, the node writes no events. */
  follow(level: () => number): void {
    this.#level = level;
  }

  readonly isOn = (): boolean => this.#isWanted && isOn("EVENTS", this.#level());
}
