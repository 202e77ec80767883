import type { StoreData } from "@mainspring/server/testing";
import type { Views } from "../checkers/all.ts";
import { isAudited } from "./audited-pools.ts";
import type { Network } from "./network.ts";
import { hasRevocations, type RevokedKeys } from "./revoked-keys.ts";
import { type LeaseService, wantsLeader } from "./sim-leases.ts";
import { hasWebhooks } from "./sim-receiver.ts";
import type { SimServer } from "./sim-server.ts";
import { hasSink } from "./sim-sink.ts";
import type { SomeGraph } from "./some-graph.ts";
import { hasHeadroom, limitsTenants } from "./tenants.ts";
import { hasEvents } from "./workflow-kinds.ts";

export interface Observation {
  /** Servers that exist at the moment. */
  servers(): SimServer[];
  leases: LeaseService;
  data: StoreData;
  network: Network;
  /** null: the servers have no keys. */
  revoked: RevokedKeys | null;
  /** Submitted workflows, by the id of their job. */
  graphs: ReadonlyMap<string, SomeGraph>;
}

/** Data of a simulated world for checkers, besides its history. @param seen called once the world is complete */
export function viewsOf(rules: Views["rules"], seed: number, seen: () => Observation): Views {
  return {
    ...{
      isTelling: hasEvents(seed),
      hasSink: hasSink(seed),
      hasWebhooks: hasWebhooks(seed),
      wantsLeader: wantsLeader(seed),
      rules,
    },
    ...(isAudited(seed) && {
      audit: {
        read: (...asked) => seen().data.audit.read(...asked),
        anchors: (...asked) => seen().data.audit.anchors(...asked),
      },
    }),
    ...(hasRevocations(seed) && {
      keys: {
        isDead: (key) => seen().revoked?.isDead(key) ?? false,
        held: () => seen().revoked?.held() ?? [],
      },
    }),
    hasHeadroom: hasHeadroom(seed),
    deliveries: () => seen().data.webhooks.all(),
    graphs: () => seen().graphs,
    weights: () =>
      new Map(
        seen()
          .data.tenants.all()
          .map(({ name, weight }) => [name, weight]),
      ),
    ...(limitsTenants(seed) && {
      tenantLimits: () =>
        new Map(
          seen()
            .data.tenants.all()
            .map(({ name, maxRunning }) => [name, maxRunning ?? Number.POSITIVE_INFINITY]),
        ),
    }),
    servers: () =>
      seen()
        .servers()
        .map((server) => server.shown()),
    topology: {
      nodes: () => seen().leases.list(),
      owners: () => seen().data.holders(),
      isLinked: (one, other) => !seen().network.isDisconnected(one, other),
    },
    askGateway: (name, worker) => {
      const server = seen()
        .servers()
        .find(({ process }) => process.name === name);
      return server?.gateway?.statuses(worker)[0]?.executions ?? null;
    },
  };
}
