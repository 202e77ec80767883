import type { Candidate } from "../../domain/execution.ts";
import type { Lane } from "./lanes.ts";

type Keyed = Pick<Candidate, "id" | "tenant" | "concurrencyKey" | "concurrencyLimit">;

/** Limit of one concurrency key of one tenant: how many of its executions may have a worker, or be open runs, at once. */
export interface Gate {
  name: string;
  limit: number;
  /** Id of the newest execution, whose limit counts. */
  limitFrom: string;
  /** Number of current attempts and of workflow runs that are open or about to be opened. */
  running: number;
  lanes: Set<Lane>;
  /** Whether the limit has changed and the lanes behind the gate were not updated yet. */
  changed: boolean;
}

export class Gates {
  readonly #gates = new Map<string, Gate>();

  /** The gate of an execution, created if it does not exist; null: the execution has no key. */
  of(row: Keyed): Gate | null {
    if (row.concurrencyKey === null) return null;
    const name = nameOf(row);
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      gate = { name, limit: row.concurrencyLimit, limitFrom: row.id, running: 0, lanes: new Set(), changed: false };
      this.#gates.set(name, gate);
    } else if (row.id >= gate.limitFrom) {
      gate.changed ||= gate.limit !== row.concurrencyLimit;
      gate.limit = row.concurrencyLimit;
      gate.limitFrom = row.id;
    }
    return gate;
  }

  /** The existing gate of an execution; null: there is none. Does not update the gate's limit. */
  find(row: Keyed): Gate | null {
    return row.concurrencyKey === null ? null : (this.#gates.get(nameOf(row)) ?? null);
  }

  /** Removes a gate that has no lanes and that nothing has passed. */
  prune(gate: Gate): void {
    if (gate.running > 0 || gate.lanes.size > 0) return;
    // A later gate may have the name of one that was forgotten while an execution still referred to its lane.
    if (this.#gates.get(gate.name) === gate) this.#gates.delete(gate.name);
  }

  get size(): number {
    return this.#gates.size;
  }
}

function nameOf({ tenant, concurrencyKey }: Keyed): string {
  return `${tenant}\u0000${concurrencyKey}`;
}

export function isOpen(gate: Gate | null): boolean {
  return gate === null || gate.running < gate.limit;
}
