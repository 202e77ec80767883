import type { Logger } from "pino";
import type { Incarnation } from "../../domain/ids.ts";
import type { NodeProfile } from "../../ports/leases.ts";

/** Values of settings by their names. */
export type Settings = Readonly<Record<string, string>>;

/** Largest number of characters of a value of another node in a line of the log. */
const SHOWN_MAX_CHARS = 100;

/** Compares settings that must be the same on all nodes with those of the other nodes, and warns of each node once. */
export class AlikeSettings {
  readonly own: Settings;
  readonly #log: Logger;
  #living: ReadonlyMap<Incarnation, NodeProfile> = new Map();
  /** Nodes with other settings. */
  readonly #others = new Set<Incarnation>();

  constructor(own: Settings, log: Logger) {
    this.own = own;
    this.#log = log;
  }

  /** Number of living nodes with other settings. */
  get differing(): number {
    return this.#others.size;
  }

  /** Records the nodes that live now; the list is complete. */
  meet(nodes: readonly NodeProfile[]): void {
    this.#living = new Map(nodes.map((node) => [node.incarnation, node]));
    for (const node of this.#others) if (!this.#living.has(node)) this.#others.delete(node);
  }

  /** Compares the settings of a node that has proved its identity. */
  hear(node: Incarnation, theirs: Settings): void {
    const different = Object.entries(this.own).filter(([name, own]) => (theirs[name] ?? own) !== own);
    if (different.length === 0 || this.#others.has(node)) return;
    this.#others.add(node);
    const told = different.map(([name, own]) => `${name} is ${shown(theirs[name])} there and ${shown(own)} here`);
    this.#log.warn(
      { node, address: this.#living.get(node)?.address },
      `another node has other settings, which must be the same on all nodes: ${told.join(", ")}`,
    );
  }
}

function shown(value = ""): string {
  return JSON.stringify(value.slice(0, SHOWN_MAX_CHARS));
}
