import type { EpochMs, Incarnation } from "../domain/ids.ts";
import type { Role } from "./bus.ts";

/**
 * Leases of the living nodes, a hint as to which node should own which shard. Safety never depends on leases, because
 * epochs keep two owners of a shard apart. Each node holds one lease. Rendezvous hashing over the list of leases
 * (domain/cluster/placement.ts) gives each node its shards.
 */
export interface Leases {
  /**
   * Takes this node's lease, or renews it. Idempotent.
   * The caller may believe that it holds the lease for `ttlMs` counted from *before* this call, on its monotonic clock:
   * a slow answer must shorten ownership, never stretch it.
   * @param ttlMs milliseconds, 1_000 to 60_000
   * @returns every node whose lease has not run out by the lease service's clock, including this node
   * @throws {LeasesUnavailable} the caller keeps its shards until its own trust in the lease runs out, and then stops
   */
  renew(node: NodeProfile, ttlMs: number): Promise<NodeLease[]>;
  /** Gives up the lease of a node that stops. Does nothing if there is no lease. @throws {LeasesUnavailable} */
  release(node: Incarnation): Promise<void>;
  /** Every known node, including nodes whose lease ran out recently. @throws {LeasesUnavailable} */
  list(): Promise<KnownNode[]>;
  /**
   * Makes a node hand its work to the other nodes, or accept work again. All nodes learn of it when they next renew
   * their leases.
   * @returns whether the node is alive
   * @throws {LeasesUnavailable}
   */
  drain(node: Incarnation, isDraining: boolean): Promise<boolean>;
}

export interface NodeProfile {
  incarnation: Incarnation;
  /**
   * Name that stays the same over restarts, so that a node that comes back gets its shards again; its advertised
   * address.
   */
  name: string;
  /** host:port at which other nodes reach the node. */
  address: string;
  roles: readonly Role[];
  version: string;
  /** Feature level that the node understands; see domain/cluster/feature-level.ts. */
  level: number;
  startedAt: EpochMs;
  /** Whether the node has a secret of the cluster, with which it proves its identity to other nodes; default: no. */
  hasSecret?: boolean;
  /**
   * Drain state of the node as the last renewal returned it, for a lease service that has lost its data; default: not
   * draining.
   */
  wasDraining?: boolean;
  /** Whether the node wants one node to own all shards (MAINSPRING_LEADER=one); default: no. */
  wantsLeader?: boolean;
  /** Nodes to which this node has a link, including itself; null or left out: not known. */
  reaches?: readonly Incarnation[] | null;
}

export interface NodeLease extends Omit<NodeProfile, "wasDraining" | "reaches"> {
  /** Milliseconds since the last renewal, by the lease service's clock. */
  renewedAgoMs: number;
  /** Whether the node must hand its work to the other nodes. */
  draining: boolean;
  /** Nodes to which the node reports to have a link; null: the node does not report links. */
  reaches: readonly Incarnation[] | null;
}

export interface KnownNode extends NodeLease {
  /** Whether the node's lease has not run out. */
  isLiving: boolean;
}

/** The lease service did not answer in time. */
export class LeasesUnavailable extends Error {
  override readonly name = "LeasesUnavailable";
}

/** The settings of the lease service are wrong, or its program is too old. The message says what to do. */
export class LeasesUnusable extends Error {
  override readonly name = "LeasesUnusable";
}
