import { EPOCH_MS } from "../../sim-process.ts";
import type { SeenNode } from "../../world/sim-leases.ts";
import { type Checker, Violation } from "../checker.ts";

/**
 * Time for which a takeover may be on its way to the store, in milliseconds. The node that asked for it cannot know
 * what the owner did meanwhile.
 */
const UNDER_WAY_MS = 30_000;

/**
 * Nodes that reach the store but not each other do not take shards from each other in turn, and shards move only when
 * their owner releases them. No node takes a shard from an owner that has renewed its lease all the time, unless the
 * lease service was wrong, which it may be. An earlier incarnation of a node is over once a later one has a lease,
 * whatever the earlier lease says.
 * @param nodes all nodes with a lease
 */
export function livingOwnersAreNotRobbed(nodes: () => readonly SeenNode[]): Checker {
  let wrongUntilMs = 0;
  return {
    name: "living owners are not robbed",
    noticed(event) {
      if (event.kind !== "FAULT" || event.fault !== "LEASES_WRONG") return;
      wrongUntilMs = Math.max(wrongUntilMs, event.atMs + (event.forMs ?? 0) + UNDER_WAY_MS);
    },
    saw(event) {
      if (event.kind !== "TAKEN_OVER" || event.at < EPOCH_MS + wrongUntilMs) return;
      const leases = nodes();
      const taker = leases.find(({ incarnation }) => incarnation === event.owner);
      const others = leases.filter(({ name, steadyForMs }) => name !== taker?.name && steadyForMs > UNDER_WAY_MS);
      const steady = new Set(others.filter((lease) => !isSucceeded(lease, leases)).map((lease) => lease.incarnation));
      for (const { shard, from } of event.shards) {
        if (from === null || from === event.owner || !steady.has(from)) continue;
        throw new Violation(`${event.owner} took shard ${shard} from ${from}, which renewed its lease all the time`);
      }
    },
  };
}

/**
 * Whether a later incarnation of the node has a lease too. The lease service lists leases in the order of their first
 * renewals.
 */
function isSucceeded(lease: SeenNode, leases: readonly SeenNode[]): boolean {
  return leases.findLast(({ name }) => name === lease.name) !== lease;
}
