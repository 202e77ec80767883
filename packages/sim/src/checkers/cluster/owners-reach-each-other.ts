import type { Incarnation, ShardId } from "@mainspring/server/testing";
import type { Moment } from "../history.ts";
import type { SeenNode } from "../world/sim-leases.ts";
import { type Checker, Violation } from "./checker.ts";

/** Once nothing changes any more, the nodes have this long: to notice, to let go, to take over. */
const SETTLED_AFTER_MS = 25_000;
/** A link that stands again counts later each time that it broke before. */
const MENDED_AFTER_MS = 130_000;
/** Faults that keep a node from its lease, its shards or the store, beside the links. */
const DISTURBING = ["SERVER_KILLED", "SERVER_PAUSED", "STORE_DOWN", "LEASES_DOWN", "LEASES_WRONG"];

/** True state of the nodes, whatever they believe. */
export interface Topology {
  nodes(): readonly SeenNode[];
  owners(): readonly { shard: ShardId; owner: Incarnation | null }[];
  /** Whether there can be a connection between two machines. */
  isLinked(one: string, other: string): boolean;
}

/**
 * Where links between nodes are broken, one side owns: no shard is without an owner while a node lives, the owners all
 * reach each other, and no larger group of nodes that do stands by without shards. Judged when nothing has changed for
 * a while.
 */
export function ownersReachEachOther(topology: Topology): Checker {
  const links = new Links();
  let disturbedUntilMs = 0;
  return {
    name: "owners reach each other",
    noticed(moment) {
      disturbedUntilMs = Math.max(disturbedUntilMs, disturbedUntil(moment));
    },
    looked(nowMs) {
      const nodes = topology.nodes().filter(({ roles, isLiving }) => roles.includes("scheduler") && isLiving);
      const changedMs = links.look(nowMs, nodes, topology);
      const isSteady = nodes.length > 0 && nodes.every(({ steadyForMs }) => steadyForMs >= SETTLED_AFTER_MS);
      if (!isSteady || nowMs < disturbedUntilMs + SETTLED_AFTER_MS || nowMs < changedMs) return;
      judge(nodes, topology);
    },
  };
}

function disturbedUntil(moment: Moment): number {
  if (moment.kind === "STORE_FAULT") return moment.atMs;
  if (moment.kind === "OPERATED" && moment.deed === "DRAIN_NODE") return moment.atMs + moment.forMs;
  if (moment.kind !== "FAULT" || !DISTURBING.includes(moment.fault)) return 0;
  return moment.atMs + (moment.forMs ?? 0);
}

/** Keeps in mind when links changed. */
class Links {
  readonly #stands = new Map<string, boolean>();
  #settledMs = 0;

  /** @returns from when on the owners are to have settled */
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

function judge(nodes: readonly SeenNode[], { owners, isLinked }: Topology): void {
  const owning = new Set<SeenNode>();
  for (const { shard, owner } of owners()) {
    const node = nodes.find(({ incarnation }) => incarnation === owner);
    if (node === undefined)
      throw new Violation(`shard ${shard} has no owner that lives (${owner}), and nodes live that could own it`);
    owning.add(node);
  }
  const areLinked = (group: readonly SeenNode[]) =>
    group.every((one) => group.every((other) => one === other || isLinked(one.name, other.name)));
  if (!areLinked([...owning]))
    throw new Violation(`${namesOf([...owning])} own shards, and do not all reach each other`);
  const groups = subsetsOf(nodes).filter(areLinked);
  const most = Math.max(...groups.map(({ length }) => length));
  const mayOwn = groups.filter((group) => group.length === most);
  if (mayOwn.some((group) => [...owning].every((node) => group.includes(node)))) return;
  throw new Violation(
    `${namesOf([...owning])} own the shards, though ${most} nodes reach each other: ${mayOwn.map(namesOf)}`,
  );
}

/** All of them: there are few nodes. */
function subsetsOf(nodes: readonly SeenNode[]): SeenNode[][] {
  return Array.from({ length: 2 ** nodes.length }, (_, bits) => nodes.filter((_, i) => (bits >> i) % 2 === 1));
}

function namesOf(nodes: readonly SeenNode[]): string {
  return nodes.map(({ name }) => name).join(" and ");
}
