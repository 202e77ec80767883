import { fnv1a, type ShardId } from "../ids.ts";

const SEED = 0x811c9dc5;

/**
 * Which node each shard belongs to: rendezvous hashing, so that a node that comes or goes moves as few shards as can be,
 * with a cap, so that nobody has more than its share. Every node computes the same from the same list.
 * @param nodes names that keep their value over restarts, each once; in any order
 * @returns by shard, the position of its node in `nodes`; empty where there are no nodes
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
