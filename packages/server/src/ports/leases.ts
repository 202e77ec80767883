import type { EpochMs, Incarnation } from "../domain/ids.ts";
import type { Role } from "./bus.ts";

/**
 * Which nodes live: a hint who should own a shard. Safety never depends on it; epochs are what keeps two owners apart. A
 * node holds one lease, and its shards follow from the list of all of them, by rendezvous (shard/placement.ts).
 */
export interface Leases {
  /**
   * Takes this node's lease, or renews it. Idempotent.
   * The caller may believe that it holds it for `ttlMs` counted from *before* this call, on its monotonic clock: a slow
   * answer must shorten ownership, never stretch it.
   * @param ttlMs milliseconds, 1_000 to 60_000
   * @returns every node whose lease has not run out by the lease service's clock, this one included
   * @throws {LeasesUnavailable} keep what you hold until your own trust runs out, then stop
   */
  renew(node: NodeProfile, ttlMs: number): Promise<NodeLease[]>;
  /** Gives the lease up: the node is going. Does nothing where there is none. @throws {LeasesUnavailable} */
  release(node: Incarnation): Promise<void>;
  /** Every node that is known, also those whose lease ran out lately. @throws {LeasesUnavailable} */
  list(): Promise<KnownNode[]>;
  /**
   * Has a node give its work to the others, or take work again. It and all others hear of it with their next renewals.
   * @returns whether the node lives @throws {LeasesUnavailable}
   */
  drain(node: Incarnation, isDraining: boolean): Promise<boolean>;
}

export interface NodeProfile {
  incarnation: Incarnation;
  /** Keeps its value over restarts, so that a node that comes back finds its shards; its advertised address. */
  name: string;
  /** host:port where other nodes reach it. */
  address: string;
  roles: readonly Role[];
  version: string;
  /** Feature level that the node understands; see domain/cluster/feature-level.ts. */
  level: number;
  startedAt: EpochMs;
  /** Whether it has a secret of the cluster, to prove itself to other nodes by; default: no. */
  hasSecret?: boolean;
  /** Drain state that the node last heard of itself, for a lease service that has lost its state; default: no. */
  wasDraining?: boolean;
  /** Nodes to which it has a link, itself included; default: it does not say. */
  reaches?: readonly Incarnation[] | null;
}

export interface NodeLease extends Omit<NodeProfile, "wasDraining" | "reaches"> {
  /** How long ago it was renewed, by the lease service's clock. */
  renewedAgoMs: number;
  /** It is to give its work to the others. */
  draining: boolean;
  /** Nodes to which it has a link, by its own word; null: it does not say. */
  reaches: readonly Incarnation[] | null;
}

export interface KnownNode extends NodeLease {
  /** Whether its lease stands. */
  isLiving: boolean;
}

/** The lease service did not answer, or not in time. */
export class LeasesUnavailable extends Error {
  override readonly name = "LeasesUnavailable";
}
