import { clusterLevel, FEATURE_LEVEL, isOn } from "../../domain/cluster/feature-level.ts";
import { dividedAmong, placeShards } from "../../domain/cluster/placement.ts";
import { largestGroup } from "../../domain/cluster/reach.ts";
import { type Incarnation, SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import type { Role } from "../../ports/bus.ts";
import type { NodeLease } from "../../ports/leases.ts";
import type { ShardHolder } from "../../ports/store.ts";

/** Time in ms since its last renewal after which an unreachable node counts as dead, before its lease ends. */
export const SUSPECT_AFTER_MS = 400;
/**
 * Time in ms after the loss of a shard to another node before which this node does not take it over from an owner that
 * seems dead.
 */
export const SETTLE_MS = 10_000;

/** Facts by which a node decides which shards to take and which to release. */
export interface Outlook {
  me: Incarnation;
  living: readonly NodeLease[];
  /** Whether this node may own no shards, because it and the owners do not reach each other. */
  isCutOff: boolean;
  /** Shards that should be this node's. */
  placed: ReadonlySet<ShardId>;
  holders: readonly ShardHolder[];
  /** Shards that this node's machine has. */
  mine: ReadonlyMap<ShardId, unknown>;
  /** Whether the shard was lost to another node within the last SETTLE_MS. */
  isSettling(shard: ShardId): boolean;
}

export interface LeaseTerms {
  /** Milliseconds for which a lease is valid without a renewal; infinite for a server that is alone. */
  ttlMs: number;
  /** Interval in ms at which the lease is renewed and the list of nodes read; well below `ttlMs`. */
  renewEveryMs: number;
}

export interface OwnershipChange {
  take: ShardHolder[];
  /**
   * Shards to release: one at a time, so that a new node does not stop all work at once; all of them if this node is
   * cut off.
   */
  release: readonly ShardId[];
}

/**
 * Living nodes with the role. Living schedulers may own shards.
 * @param leases all valid leases
 * @param isUnreachable whether connections to the node are refused or reset
 */
export function livingNodes(
  leases: readonly NodeLease[],
  isUnreachable: (node: Incarnation) => boolean,
  role: Role = "scheduler",
): NodeLease[] {
  const living = leases.filter(
    ({ incarnation, renewedAgoMs, roles }) =>
      roles.includes(role) && !(renewedAgoMs > SUSPECT_AFTER_MS && isUnreachable(incarnation)),
  );
  // If a node has the leases of two incarnations, the younger one is alive.
  const byName = new Map<string, NodeLease>();
  for (const lease of living) {
    const known = byName.get(lease.name);
    if (known === undefined || lease.startedAt > known.startedAt) byName.set(lease.name, lease);
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Tells which nodes a refused connection makes suspect of being dead: those whose links were intact until now. If a
 * link was broken before, a refusal does not show that the node is dead, so its lease has to end.
 * @param reachable nodes to which no connection is refused or reset
 */
export function suspects(
  leases: readonly NodeLease[],
  me: Incarnation,
  reachable: readonly Incarnation[],
): (node: Incarnation) => boolean {
  const counted = leases.find(({ incarnation }) => incarnation === me)?.reaches ?? null;
  return (node) => node !== me && !reachable.includes(node) && (counted === null || counted.includes(node));
}

/**
 * Next moment at which some owner counts as dead, so that nodes need not wait for their next round.
 * @returns milliseconds until then, unless the owner renews its lease; infinite: no renewal is late
 */
export function nextDeathMs(
  leases: readonly NodeLease[],
  isUnreachable: (node: Incarnation) => boolean,
  { ttlMs, renewEveryMs }: LeaseTerms,
): number {
  const owners = leases.filter(({ roles }) => roles.includes("scheduler"));
  const leftMs = owners.flatMap(({ incarnation, renewedAgoMs }) => {
    if (renewedAgoMs <= SUSPECT_AFTER_MS && isUnreachable(incarnation)) return [SUSPECT_AFTER_MS - renewedAgoMs];
    return renewedAgoMs > 2 * renewEveryMs ? [ttlMs - renewedAgoMs] : [];
  });
  return Math.max(0, Math.min(...leftMs)) + 1;
}

/** Nodes that may own shards: the largest group of nodes that all reach each other. @param leases all valid leases */
export function owningNodes(living: readonly NodeLease[], leases: readonly NodeLease[]): readonly NodeLease[] {
  // All nodes must compute the same placement: while one node does not support reach, no node applies it.
  return isOn("REACH", clusterLevel(leases, FEATURE_LEVEL)) ? largestGroup(living) : living;
}

/** Nodes on which shards are placed: one leader, or all that stay. @param leases all valid leases */
export function placedNodes(owners: readonly NodeLease[], leases: readonly NodeLease[]): readonly NodeLease[] {
  const schedulers = leases.filter(({ roles }) => roles.includes("scheduler"));
  return dividedAmong(stayingNodes(owners, leases), schedulers);
}

/** Nodes that may keep shards. Draining nodes count only if there is no other. @param leases all valid leases */
export function stayingNodes(owners: readonly NodeLease[], leases: readonly NodeLease[]): readonly NodeLease[] {
  // All nodes must compute the same placement: while one node does not support draining, no node applies it.
  if (!isOn("DRAINING", clusterLevel(leases, FEATURE_LEVEL))) return owners;
  const staying = owners.filter(({ draining }) => !draining);
  return staying.length > 0 ? staying : owners;
}

/**
 * The shards that the list of nodes places on this node. The result is cached, because it is asked for several times a
 * second and rarely changes.
 */
export class Placement {
  #asked = "";
  #placed: ReadonlySet<ShardId> = new Set();

  /** @param nodes nodes on which shards are placed */
  here(me: Incarnation, nodes: readonly NodeLease[]): ReadonlySet<ShardId> {
    const names = nodes.map(({ name }) => name);
    const here = nodes.findIndex(({ incarnation }) => incarnation === me);
    const asked = JSON.stringify([here, names]);
    if (asked === this.#asked) return this.#placed;
    this.#asked = asked;
    const places = placeShards(names, SHARD_COUNT);
    this.#placed = new Set(places.flatMap((place, shard) => (place === here ? [shard] : [])));
    return this.#placed;
  }
}

/**
 * Shards to take over and to release. A shard of a living owner is not taken over: that owner releases the shard when
 * it sees the same list of nodes.
 */
export function planOwnership(outlook: Outlook): OwnershipChange {
  const { me, living, placed, mine, holders, isCutOff } = outlook;
  const alive = new Set(living.map(({ incarnation }) => incarnation));
  const take = holders.filter(({ shard, owner }) => {
    if (!placed.has(shard) || mine.has(shard)) return false;
    if (owner === null || owner === me) return true;
    return !alive.has(owner) && !outlook.isSettling(shard);
  });
  const others = living.some(({ incarnation }) => incarnation !== me);
  const elsewhere = others ? [...mine.keys()].filter((shard) => !placed.has(shard)) : [];
  // The work of a node that is cut off has stopped already, so releasing everything at once costs nothing.
  const release = isCutOff ? elsewhere : elsewhere.slice(0, 1);
  return { take, release };
}
