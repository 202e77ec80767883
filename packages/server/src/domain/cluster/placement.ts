import { fnv1a, type Incarnation, type ShardId } from "../ids.ts";

const SEED = 0x811c9dc5;

/**
 * Places each shard on a node by rendezvous hashing, so that a node that joins or leaves moves as few shards as
 * possible, and with a cap, so that no node gets more than its share. Every node computes the same placement from the
 * same list.
 * @param nodes names that stay the same over restarts, without repeats, in any order
 * @returns for each shard the index of its node in `nodes`; empty without nodes
 */
export function placeShards(nodes: readonly string[], shardCount: number): number[] {
  if (nodes.length === 0) return [];
  const cap = Math.ceil(shardCount / nodes.length);
  const loads = nodes.map(() => 0);
  const places: number[] = [];
  for (let shard = 0; shard < shardCount; shard++) {
    let best = -1;
    for (let node = 0; node < nodes.length; node++) {
      if ((loads[node] as number) >= cap) continue;
      if (best < 0 || prefers(shard, nodes[node] as string, nodes[best] as string)) best = node;
    }
    places.push(best);
    loads[best] = (loads[best] as number) + 1;
  }
  return places;
}

function prefers(shard: ShardId, a: string, b: string): boolean {
  const weightA = fnv1a(`${a}:${shard}`, SEED);
  const weightB = fnv1a(`${b}:${shard}`, SEED);
  return weightA !== weightB ? weightA > weightB : a < b;
}

/** A node that may own shards. */
export interface Candidate {
  incarnation: Incarnation;
  /** Whether the node has MAINSPRING_LEADER=one; left out: no, or a program that does not know the setting. */
  wantsLeader?: boolean;
}

/**
 * Nodes among which all shards are divided. If every living node wants one leader, the leader gets them all: the node with the
 * lowest id, which is the one that started first, so that a node that joins takes nothing away. As long as one node does not
 * want a leader, no node applies it, because all nodes must compute the same placement.
 * @param staying nodes on which shards may be placed
 * @param schedulers all living nodes with the role scheduler
 */
export function dividedAmong<Node extends Candidate>(
  staying: readonly Node[],
  schedulers: readonly Candidate[],
): readonly Node[] {
  if (staying.length === 0 || !schedulers.every(({ wantsLeader }) => wantsLeader === true)) return staying;
  return [staying.reduce((first, node) => (node.incarnation < first.incarnation ? node : first))];
}
