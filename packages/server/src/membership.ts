import type { Leases, NodeLease } from "./ports/leases.ts";
import type { Runtime } from "./ports/runtime.ts";

/** What a node knows of the nodes that live, from the renewals of its own lease. */
export class Membership {
  /** To be renewed by. */
  readonly leases: Leases;
  readonly #runtime: Runtime;
  #nodes: readonly NodeLease[] = [];
  #trustUntilMs = Number.NEGATIVE_INFINITY;

  /** @param told hears of every renewal */
  constructor(leases: Leases, runtime: Runtime, told: (nodes: readonly NodeLease[]) => void) {
    this.#runtime = runtime;
    this.leases = {
      release: (node) => leases.release(node),
      renew: async (profile, ttlMs) => {
        const beganMs = runtime.monotonicMs();
        const nodes = await leases.renew(profile, ttlMs);
        this.#nodes = nodes;
        this.#trustUntilMs = beganMs + ttlMs;
        told(nodes);
        return nodes;
      },
    };
  }

  /** As of the last renewal. */
  get nodes(): readonly NodeLease[] {
    return this.#nodes;
  }

  /** Whether this node's own lease stands. */
  get stands(): boolean {
    return this.#runtime.monotonicMs() < this.#trustUntilMs;
  }
}
