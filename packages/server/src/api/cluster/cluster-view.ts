import type { ClusterBody, ClusterNodeBody } from "@mainspring/contract";
import { clusterLevel } from "../../domain/cluster/feature-level.ts";
import { dividedAmong } from "../../domain/cluster/placement.ts";
import { isCutOff, largestGroup } from "../../domain/cluster/reach.ts";
import type { Incarnation } from "../../domain/ids.ts";
import type { Bus, Role } from "../../ports/bus.ts";
import type { KnownNode, Leases } from "../../ports/leases.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { ShardHolder, Store } from "../../ports/store.ts";
import { formatInstant } from "../http/instants.ts";
import type { Inbox } from "../inbox.ts";

const ASK_TIMEOUT_MS = 500;
/** Largest count of ready executions; counting further would cost more than the figure is worth. */
const COUNT_MAX = 10_000;
/** Age of a lease renewal in milliseconds above which an unreachable node has probably died. */
const SUSPECT_AFTER_MS = 400;
const ROLES: readonly Role[] = ["api", "scheduler", "gateway"];

export interface ClusterDependencies {
  bus: Bus;
  runtime: Runtime;
  inbox: Inbox;
  store: Pick<Store, "readShards" | "queries" | "audit">;
  leases: Pick<Leases, "list" | "drain">;
}

/** View of the cluster: living nodes and owners of shards from the store, with the figures of the nodes that answer. */
export async function viewCluster(deps: ClusterDependencies): Promise<ClusterBody> {
  const { bus, leases, runtime, store } = deps;
  const [nodes, holders, counts, answers] = await Promise.all([
    leases.list(),
    store.readShards(),
    store.queries.countExecutions(null, COUNT_MAX),
    askNodes(deps),
  ]);
  const living = nodes.filter(({ isLiving }) => isLiving);
  const owners = living.filter(({ roles }) => roles.includes("scheduler"));
  const group = largestGroup(owners.filter((node) => !isSuspect(node, bus)));
  const dueAts = [...answers.values()].flatMap(({ oldestReadyAt }) => oldestReadyAt ?? []);
  return {
    node: bus.node,
    leader: leaderOf(owners, group),
    level: living.length === 0 ? 0 : clusterLevel(living, Number.POSITIVE_INFINITY),
    nodes: nodes.map((node) =>
      nodeBody(node, { bus, holders, living, group, workers: answers.get(node.incarnation)?.workers ?? null }),
    ),
    shards: holders.map(({ shard, epoch, owner }) => ({ shard, epoch, nodeId: owner })),
    lag: {
      ready: counts.ready,
      oldestReadyMs: dueAts.length === 0 ? null : Math.max(0, Math.round(runtime.now() - Math.min(...dueAts))),
      silentOwners: owners.filter(({ incarnation }) => answers.get(incarnation)?.isOwner !== true).length,
    },
  };
}

/** Node that all shards are placed on, by the same rule as in the schedulers; null: they are divided. */
function leaderOf(owners: readonly KnownNode[], group: readonly KnownNode[]): Incarnation | null {
  if (owners.length === 0 || !owners.every(({ wantsLeader }) => wantsLeader === true)) return null;
  const staying = group.filter(({ draining }) => !draining);
  return dividedAmong(staying.length > 0 ? staying : group, owners)[0]?.incarnation ?? null;
}

interface Around {
  bus: Bus;
  holders: readonly ShardHolder[];
  living: readonly KnownNode[];
  /** Nodes that may own shards. */
  group: readonly KnownNode[];
  workers: number | null;
}

function nodeBody(node: KnownNode, { bus, holders, living, group, workers }: Around): ClusterNodeBody {
  const { incarnation, address, roles, version, level, startedAt, renewedAgoMs, draining, isLiving, reaches } = node;
  const unreached = reaches && living.filter((other) => !reaches.includes(other.incarnation));
  return {
    nodeId: incarnation,
    ...{ address, roles: [...roles], version, level, renewedAgoMs },
    state: !isLiving ? "GONE" : draining ? "DRAINING" : "LIVING",
    startedAt: formatInstant(startedAt),
    isReachable: incarnation === bus.node || ROLES.some((role) => bus.nodes(role).includes(incarnation)),
    unreached: unreached && unreached.map(({ address: at }) => at),
    isCutOff: isLiving && isCutOff(node, group, roles.includes("scheduler")),
    shards: holders.filter(({ owner }) => owner === incarnation).length,
    workers,
  };
}

/** Whether a node has probably died, by the same rule as in the schedulers. */
function isSuspect({ incarnation, renewedAgoMs }: KnownNode, bus: Bus): boolean {
  return renewedAgoMs > SUSPECT_AFTER_MS && !bus.nodes("scheduler").includes(incarnation);
}

/** Figures that a node reports about itself. */
interface Told {
  isOwner: boolean;
  oldestReadyAt: number | null;
  /** Number of connected workers; null: the node is no gateway. */
  workers: number | null;
}

async function askNodes({ bus, runtime, inbox }: ClusterDependencies): Promise<Map<Incarnation, Told>> {
  const [stats, workers] = [runtime.uuid(), runtime.uuid()];
  const [schedulers, gateways] = [bus.nodes("scheduler"), bus.nodes("gateway")];
  const answered = Promise.all([
    inbox.collectBySender(stats, schedulers.length, ASK_TIMEOUT_MS),
    inbox.collectBySender(workers, gateways.length, ASK_TIMEOUT_MS),
  ]);
  for (const node of schedulers) bus.send({ node, role: "scheduler" }, { kind: "ASK_TALLY", request: stats });
  for (const node of gateways) bus.send({ node, role: "gateway" }, { kind: "LIST_WORKERS", request: workers });
  const [tallies, lists] = await answered;
  const told = new Map<Incarnation, Told>();
  const of = (node: Incarnation) => told.get(node) ?? { isOwner: false, oldestReadyAt: null, workers: null };
  for (const [node, answer] of tallies) {
    if (answer.kind !== "TALLY") continue;
    told.set(node, { ...of(node), isOwner: true, oldestReadyAt: answer.tally.oldestReadyAt ?? null });
  }
  for (const [node, answer] of lists) {
    if (answer.kind !== "WORKERS") continue;
    const connected = answer.workers.filter(({ state }) => state === "ALIVE" || state === "DRAINING");
    told.set(node, { ...of(node), workers: connected.length });
  }
  return told;
}
