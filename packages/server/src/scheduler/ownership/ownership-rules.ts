import { clusterLevel, FEATURE_LEVEL, isOn } from "../../domain/cluster/feature-level.ts";
import { placeShards } from "../../domain/cluster/placement.ts";
import { largestGroup } from "../../domain/cluster/reach.ts";
import { type Incarnation, SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import type { Role } from "../../ports/bus.ts";
import type { NodeLease } from "../../ports/leases.ts";
import type { ShardHolder } from "../../ports/store.ts";

/** A node that cannot be reached and has missed a renewal of its lease is taken for dead before the lease ends. */
export const SUSPECT_AFTER_MS = 400;
/** A shard that was lost to another is not taken back from the living sooner than this. */
export const SETTLE_MS = 10_000;

/** Facts by which a node decides which shards to take and which to let go. */
export interface Outlook {
  me: Incarnation;
  living: readonly NodeLease[];
  /** Whether this node may own nothing, because it and the owners do not reach each other. */
  isCutOff: boolean;
  /** Shards that should be this node's. */
  placed: ReadonlySet<ShardId>;
  holders: readonly ShardHolder[];
  /** Shards that this node has in its machine. */
  mine: ReadonlyMap<ShardId, unknown>;
  /** Whether the shard was lost to another within the last SETTLE_MS. */
  isSettling(shard: ShardId): boolean;
}

export interface LeaseTerms {
  /** How long a lease stands without being renewed; infinite for a server that is alone. */
  ttlMs: number;
  /** How often it is renewed and the list of nodes looked at; well below `ttlMs`. */
  renewEveryMs: number;
}

export interface Plan {
  take: ShardHolder[];
  /** One at a time, so that a node that comes does not stop everything at once; of a node that is cut off all of them. */
  letGo: readonly ShardId[];
}

/**
 * The nodes with the role whose leases stand; those of schedulers hold shards by right.
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
  // Two lives of one node: the younger one is the node.
  const byName = new Map<string, NodeLease>();
  for (const lease of living) {
    const known = byName.get(lease.name);
    if (known === undefined || lease.startedAt > known.startedAt) byName.set(lease.name, lease);
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Which nodes a refused connection makes suspect of being dead: those whose links counted until now. Where the link was
 * broken before, a refusal says nothing of the node, and its lease has to end.
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
 * Moment at which an owner counts as dead, so that nodes need not wait for their next round.
 * @returns in how many milliseconds that is true of one, unless it renews its lease; infinite: all do
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

/**
 * The nodes that may own shards: the largest group of those that all reach each other.
 * @param leases all that stand
 */
export function owningNodes(living: readonly NodeLease[], leases: readonly NodeLease[]): readonly NodeLease[] {
  // All have to place alike: as long as one node does not know of reach, none heeds it.
  return isOn("REACH", clusterLevel(leases, FEATURE_LEVEL)) ? largestGroup(living) : living;
}

/**
 * Nodes on which shards are placed: draining nodes only where there is no other.
 * @param leases all that stand
 */
export function stayingNodes(owners: readonly NodeLease[], leases: readonly NodeLease[]): readonly NodeLease[] {
  // All have to place alike: as long as one does not know of draining, nobody heeds it.
  if (!isOn("DRAINING", clusterLevel(leases, FEATURE_LEVEL))) return owners;
  const staying = owners.filter(({ draining }) => !draining);
  return staying.length > 0 ? staying : owners;
}

/** Which shards should be this node's, by the list of the nodes alone. Asked several times a second, and rarely another. */
export class Placement {
  #asked = "";
  #placed: ReadonlySet<ShardId> = new Set();

  /** @param nodes those that shards are placed on */
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
 * Actions that follow from the outlook. A shard of a living owner is waited for: that one lets it go when it sees the
 * same.
 */
export function plan(outlook: Outlook): Plan {
  const { me, living, placed, mine, holders, isCutOff } = outlook;
  const alive = new Set(living.map(({ incarnation }) => incarnation));
  const take = holders.filter(({ shard, owner }) => {
    if (!placed.has(shard) || mine.has(shard)) return false;
    if (owner === null || owner === me) return true;
    return !alive.has(owner) && !outlook.isSettling(shard);
  });
  const others = living.some(({ incarnation }) => incarnation !== me);
  const elsewhere = others ? [...mine.keys()].filter((shard) => !placed.has(shard)) : [];
  // Work of a node that is cut off stands still already: there is nothing to spare.
  const letGo = isCutOff ? elsewhere : elsewhere.slice(0, 1);
  return { take, letGo };
}
