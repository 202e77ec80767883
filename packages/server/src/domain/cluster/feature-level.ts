/**
 * Feature level of this program: the messages between nodes, the commands and the states in the store that it
 * understands. Grows by one with a release that says or writes what the one before does not know. Nodes of two adjacent
 * levels can form a cluster, so that it is upgraded one node after the other.
 */
export const FEATURE_LEVEL = 3;
/** Level of nodes that announce none. */
export const FIRST_LEVEL = 1;

/** From which level of the whole cluster on each is used: a node that does not know it would go against it. */
const SINCE = {
  /** Shards are not placed on draining nodes: an older one would still wait for them to take theirs. */
  DRAINING: 2,
  /** Nodes of the first level may not plan: the recurring jobs of their shards would stand still. */
  RECURRING_JOBS: 2,
  /** Nor may they ask for permits before they begin something, or grant any. */
  POOL_LIMITS: 2,
  /** A node that does not know which time zone data is in force plans by its own, and moves what others have planned. */
  TIME_ZONE_DATA: 3,
  /** A node of an older level does not answer when it is asked whether it goes by new settings of pools. */
  POOL_CONFIRMATIONS: 3,
  /** An older api drops an explanation with a reason that it does not know, and would call the owner silent. */
  NO_FREE_SLOT_REASON: 3,
  /** Shards are placed only on nodes that reach each other: an older one would still wait for the others to take theirs. */
  REACH: 3,
} as const;
export type Feature = keyof typeof SINCE;

/** Facts about a node where levels are compared. */
export interface Levelled {
  level: number;
}

/** The lowest level among the living: what every one of them understands. @param own of the node that asks */
export function clusterLevel(living: readonly Levelled[], own: number): number {
  return Math.min(own, ...living.map(({ level }) => level));
}

/** Whether every node understands it. @param level of the cluster */
export function isOn(feature: Feature, level: number): boolean {
  return level >= SINCE[feature];
}

/**
 * Node that keeps the cluster from using the feature: the one with the lowest level among those that lack it. null:
 * every node has it.
 */
export function lackingNode<Node extends Levelled>(nodes: readonly Node[], feature: Feature): Node | null {
  let oldest: Node | null = null;
  for (const node of nodes) {
    if (!isOn(feature, node.level) && (oldest === null || node.level < oldest.level)) oldest = node;
  }
  return oldest;
}

/** The level that the cluster must have for it. */
export function levelOf(feature: Feature): number {
  return SINCE[feature];
}

/** Whether nodes of these levels can work together. */
export function areAdjacent(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1;
}
