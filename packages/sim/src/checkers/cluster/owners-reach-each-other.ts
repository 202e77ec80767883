import type { Incarnation, ShardId } from "@mainspring/server/testing";
import type { SimEvent } from "../../history.ts";
import type { SeenNode } from "../../world/sim-leases.ts";
import { type Checker, Violation } from "../checker.ts";

/**
 * Time that nodes have to react once nothing changes any more, in milliseconds: to notice, to release, to take over.
 */
const SETTLED_AFTER_MS = 25_000;
/**
 * Time after which a repaired link counts as stable, in milliseconds. It is longer each time that the link has broken
 * before.
 */
const MENDED_AFTER_MS = 130_000;
/** Faults that keep a node from its lease, its shards or the store, besides broken links. */
const DISTURBING = ["SERVER_KILLED", "SERVER_PAUSED", "STORE_DOWN", "LEASES_DOWN", "LEASES_WRONG"];

/** True state of the nodes, independent of what they believe. */
export interface Topology {
  nodes(): readonly SeenNode[];
  owners(): readonly { shard: ShardId; owner: Incarnation | null }[];
  /** Whether two machines can have a connection. */
  isLinked(one: string, other: string): boolean;
}

/**
 * When links between nodes are broken, one group owns all shards: no shard is without an owner while a node lives, the
 * owners all reach each other, and no larger group of nodes that reach each other stands by without shards. The checker
 * judges when nothing has changed for a while, and accuses only if two looks in a row find a fault: shards that move back
 * to a node whose link has been stable for long enough have no owner for a moment.
 */
export function ownersReachEachOther(topology: Topology): Checker {
  const links = new Links();
  let disturbedUntilMs = 0;
  let wasAtFault = false;
  return {
    name: "owners reach each other",
    noticed(event) {
      disturbedUntilMs = Math.max(disturbedUntilMs, disturbedUntil(event));
    },
    looked(nowMs) {
      const nodes = topology.nodes().filter(({ roles, isLiving }) => roles.includes("scheduler") && isLiving);
      const changedMs = links.look(nowMs, nodes, topology);
      const isSteady = nodes.length > 0 && nodes.every(({ steadyForMs }) => steadyForMs >= SETTLED_AFTER_MS);
      const isSettled = isSteady && nowMs >= disturbedUntilMs + SETTLED_AFTER_MS && nowMs >= changedMs;
      const fault = isSettled ? faultOf(nodes, topology) : null;
      if (fault !== null && wasAtFault) throw new Violation(fault);
      wasAtFault = fault !== null;
    },
  };
}

function disturbedUntil(event: SimEvent): number {
  if (event.kind === "STORE_FAULT") return event.atMs;
  if (event.kind === "OPERATED" && event.deed === "DRAIN_NODE") return event.atMs + event.forMs;
  if (event.kind !== "FAULT" || !DISTURBING.includes(event.fault)) return 0;
  return event.atMs + (event.forMs ?? 0);
}

/** Records when links changed. */
class Links {
  readonly #stands = new Map<string, boolean>();
  #settledMs = 0;

  /** @returns time from which on the owners must be settled */
  look(nowMs: number, nodes: readonly SeenNode[], { isLinked }: Topology): number {
    for (const one of nodes) {
      for (const other of nodes) {
        if (one.incarnation >= other.incarnation) continue;
        const name = `${one.name}-${other.name}`;
        const stands = isLinked(one.name, other.name);
        if (this.#stands.get(name) === stands) continue;
        this.#stands.set(name, stands);
        this.#settledMs = Math.max(this.#settledMs, nowMs + (stands ? MENDED_AFTER_MS : SETTLED_AFTER_MS));
      }
    }
    return this.#settledMs;
  }
}

/** Fault of the owners, as a sentence; null: there is none. */
function faultOf(nodes: readonly SeenNode[], { owners, isLinked }: Topology): string | null {
  const owning = new Set<SeenNode>();
  for (const { shard, owner } of owners()) {
    const node = nodes.find(({ incarnation }) => incarnation === owner);
    if (node === undefined)
      return `shard ${shard} has no owner that lives (${owner}), and nodes live that could own it`;
    owning.add(node);
  }
  const areLinked = (group: readonly SeenNode[]) =>
    group.every((one) => group.every((other) => one === other || isLinked(one.name, other.name)));
  if (!areLinked([...owning])) return `${namesOf([...owning])} own shards, and do not all reach each other`;
  const groups = subsetsOf(nodes).filter(areLinked);
  const most = Math.max(...groups.map(({ length }) => length));
  const mayOwn = groups.filter((group) => group.length === most);
  if (mayOwn.some((group) => [...owning].every((node) => group.includes(node)))) return null;
  return `${namesOf([...owning])} own the shards, though ${most} nodes reach each other: ${mayOwn.map(namesOf)}`;
}

/** All subsets; there are few nodes. */
function subsetsOf(nodes: readonly SeenNode[]): SeenNode[][] {
  return Array.from({ length: 2 ** nodes.length }, (_, bits) => nodes.filter((_, i) => (bits >> i) % 2 === 1));
}

function namesOf(nodes: readonly SeenNode[]): string {
  return nodes.map(({ name }) => name).join(" and ");
}
