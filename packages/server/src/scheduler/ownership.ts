import { clusterLevel, FEATURE_LEVEL, isOn } from "../domain/feature-level.ts";
import { type Incarnation, SHARD_COUNT, type ShardId } from "../domain/ids.ts";
import { placeShards } from "../domain/placement.ts";
import type { Role } from "../ports/bus.ts";
import type { NodeLease } from "../ports/leases.ts";
import type { ShardHolder } from "../ports/store.ts";

/** A node that cannot be reached and has missed a renewal of its lease is taken for dead before the lease ends. */
const SUSPECT_AFTER_MS = 400;
/** A shard that was lost to another is not taken back from the living sooner than this. */
export const SETTLE_MS = 10_000;

/** What a node knows when it decides which shards to take and which to let go. */
export interface Outlook {
  me: Incarnation;
  living: readonly NodeLease[];
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
  /** One at a time, so that a node that comes does not stop everything at once. */
  letGo: ShardId | null;
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
 * So that nobody waits for a round of his own when an owner is to be taken for dead.
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
 * Those of the living that shards are placed on: not who is to give his away, unless there is nobody else.
 * @param leases all that stand
 */
export function stayingNodes(living: readonly NodeLease[], leases: readonly NodeLease[]): readonly NodeLease[] {
  // All have to place alike: as long as one does not know of draining, nobody heeds it.
  if (!isOn("DRAINING", clusterLevel(leases, FEATURE_LEVEL))) return living;
  const staying = living.filter(({ draining }) => !draining);
  return staying.length > 0 ? staying : living;
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

/** What follows from it. A shard of a living owner is waited for: that one lets it go when it sees the same. */
export function plan(outlook: Outlook): Plan {
  const { me, living, placed, mine, holders } = outlook;
  const alive = new Set(living.map(({ incarnation }) => incarnation));
  const take = holders.filter(({ shard, owner }) => {
    if (!placed.has(shard) || mine.has(shard)) return false;
    if (owner === null || owner === me) return true;
    return !alive.has(owner) && !outlook.isSettling(shard);
  });
  const others = living.some(({ incarnation }) => incarnation !== me);
  const letGo = others ? ([...mine.keys()].find((shard) => !placed.has(shard)) ?? null) : null;
  return { take, letGo };
}
