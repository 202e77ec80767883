import { clusterLevel, type Feature, isOn, lackingNode } from "./domain/feature-level.ts";
import type { Incarnation } from "./domain/ids.ts";
import type { Leases, NodeLease } from "./ports/leases.ts";
import type { Runtime } from "./ports/runtime.ts";

export interface MembershipParts {
  leases: Leases;
  runtime: Runtime;
  node: Incarnation;
  /** What this node understands. */
  level: number;
  /** Hears of every renewal that went well. */
  told(nodes: readonly NodeLease[]): void;
}

/** What a node knows of the nodes that live, from the renewals of its own lease. */
export class Membership {
  /** To be renewed by. */
  readonly leases: Leases;
  /** Renewals of this node's lease. */
  readonly renewals = { ok: 0, failed: 0 };
  readonly #parts: MembershipParts;
  #nodes: readonly NodeLease[] = [];
  #renewedMs = Number.NEGATIVE_INFINITY;
  #trustUntilMs = Number.NEGATIVE_INFINITY;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
    const { leases } = parts;
    this.leases = {
      release: (node) => leases.release(node),
      list: () => leases.list(),
      drain: (node, isDraining) => leases.drain(node, isDraining),
      renew: (profile, ttlMs) => this.#renew(profile, ttlMs),
    };
  }

  /** As of the last renewal. */
  get nodes(): readonly NodeLease[] {
    return this.#nodes;
  }

  /** Whether this node's own lease stands. */
  get stands(): boolean {
    return this.#parts.runtime.monotonicMs() < this.#trustUntilMs;
  }

  /** Since the last renewal that went well; infinite before the first one. */
  get silentMs(): number {
    return this.#parts.runtime.monotonicMs() - this.#renewedMs;
  }

  /** What every living node understands: whatever is newer must not be said or written yet. */
  get level(): number {
    return clusterLevel(this.#nodes, this.#parts.level);
  }

  /** A living node that does not know the feature, so that nobody may use it; null: all know it. */
  lacking(feature: Feature): Pick<NodeLease, "address" | "version" | "level"> | null {
    return lackingNode(this.#nodes, feature);
  }

  /** Whether this node is to give its work to the others. */
  get isDraining(): boolean {
    return this.#me?.draining === true && isOn("DRAINING", this.level);
  }

  /** Whether the workers of this node are to go to another gateway, because there is one. */
  get sendsWorkersAway(): boolean {
    const { node } = this.#parts;
    const takesWorkers = ({ incarnation, roles, draining }: NodeLease) =>
      incarnation !== node && roles.includes("gateway") && !draining;
    return this.isDraining && this.#nodes.some(takesWorkers);
  }

  get #me(): NodeLease | undefined {
    return this.#nodes.find(({ incarnation }) => incarnation === this.#parts.node);
  }

  async #renew(profile: Parameters<Leases["renew"]>[0], ttlMs: number): Promise<NodeLease[]> {
    const { leases, runtime, told } = this.#parts;
    const beganMs = runtime.monotonicMs();
    try {
      const wasDraining = this.#me?.draining ?? false;
      this.#nodes = await leases.renew({ ...profile, wasDraining }, ttlMs);
    } catch (error) {
      this.renewals.failed++;
      throw error;
    }
    this.renewals.ok++;
    this.#renewedMs = beganMs;
    this.#trustUntilMs = beganMs + ttlMs;
    told(this.#nodes);
    return [...this.#nodes];
  }
}
