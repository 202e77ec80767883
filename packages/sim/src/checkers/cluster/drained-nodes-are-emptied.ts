import type { Incarnation, KnownNode, ShardId } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";

/**
 * A drained node hands its shards to others, if there is another node to take them. The checker judges when everything
 * has come to rest: by then no drain has begun or ended for minutes.
 * @param nodes all nodes with a lease, as operators see them
 */
export function drainedNodesAreEmptied(nodes: () => readonly KnownNode[]): Checker {
  const owners = new Map<ShardId, Incarnation>();
  return {
    name: "drained nodes are emptied",
    saw(event) {
      if (event.kind !== "TAKEN_OVER") return;
      for (const { shard } of event.shards) owners.set(shard, event.owner);
    },
    atEnd() {
      const living = nodes().filter(({ isLiving, roles }) => isLiving && roles.includes("scheduler"));
      const drained = living.filter(({ draining }) => draining);
      if (drained.length === living.length) return;
      for (const { incarnation } of drained) {
        const kept = [...owners.values()].filter((owner) => owner === incarnation);
        if (kept.length > 0) throw new Violation(`${incarnation} was drained, and still owns ${kept.length} shards`);
      }
    },
  };
}
