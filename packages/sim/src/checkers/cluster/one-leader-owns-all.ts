import type { Incarnation, KnownNode, ShardId } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";

/**
 * Where all nodes want one leader, one node owns all shards. The checker judges when everything has come to rest.
 * @param wantsLeader whether the nodes of this world want one leader
 * @param nodes all nodes with a lease, as operators see them
 */
export function oneLeaderOwnsAll(wantsLeader: boolean, nodes: () => readonly KnownNode[]): Checker {
  const owners = new Map<ShardId, Incarnation>();
  return {
    name: "one leader owns all",
    saw(event) {
      if (event.kind !== "TAKEN_OVER") return;
      for (const { shard } of event.shards) owners.set(shard, event.owner);
    },
    atEnd() {
      if (!wantsLeader) return;
      const living = nodes().filter(({ isLiving, roles }) => isLiving && roles.includes("scheduler"));
      const owning = new Set(owners.values());
      if (living.length > 0 && owning.size > 1)
        throw new Violation(`${[...owning].sort().join(" and ")} own shards, and one of them should lead`);
    },
  };
}
