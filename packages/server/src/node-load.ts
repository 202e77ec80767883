import type { MeshBus } from "./adapters/mesh/mesh-bus.ts";
import type { Gateway } from "./gateway/gateway.ts";
import type { Membership } from "./membership.ts";
import type { NodeStore } from "./node-store.ts";
import type { Readings } from "./ports/metrics.ts";

/** Parts of a node whose load it shows as metrics. */
export interface Loaded {
  gateway: Gateway | null;
  store: NodeStore;
  membership: Membership;
  mesh: MeshBus | null;
  /** Feature level of the program. */
  level: number;
}

export function loadOf({ gateway, store, membership, mesh, level }: Loaded): Readings {
  const pools = store.connectionLoad();
  const workers = gateway?.load();
  const { renewals, silentMs, nodes, reach } = membership;
  const { connections, dropped, waitingBytes } = mesh?.load() ?? { connections: 0, dropped: 0, waitingBytes: 0 };
  return {
    leaseRenewals: new Map([
      ["OK", renewals.ok],
      ["FAILED", renewals.failed],
    ]),
    ...(Number.isFinite(silentMs) && { leaseAgeSec: silentMs / 1_000 }),
    ...{ clusterNodes: nodes.length, featureLevel: level, clusterFeatureLevel: membership.level },
    draining: membership.isDraining ? 1 : 0,
    ...{ cutOff: reach.isCutOff ? 1 : 0, unreachedNodes: reach.unreached.length },
    ...{ meshConnections: connections, meshDropped: dropped, meshWaitingBytes: waitingBytes },
    differingNodes: mesh?.differing ?? 0,
    workersConnected: gateway?.counters.workersConnected ?? 0,
    workersLost: gateway?.counters.workersLost ?? 0,
    workerSlots: workers?.slots ?? new Map(),
    workerStuckSlots: workers?.stuckSlots ?? new Map(),
    workersWithoutAuthority: workers?.workersWithoutAuthority ?? 0,
    storeConnectionsBusy: new Map(pools.map(({ purpose, busy }) => [purpose, busy])),
    storeConnectionsMax: new Map(pools.map(({ purpose, max }) => [purpose, max])),
    storeWaiting: new Map(pools.map(({ purpose, waiting }) => [purpose, waiting])),
  };
}
