import type { StoreData } from "@mainspring/server/testing";
import type { Views } from "../checkers/all.ts";
import type { Network } from "./network.ts";
import type { LeaseService } from "./sim-leases.ts";
import type { SimServer } from "./sim-server.ts";
import type { SomeGraph } from "./some-graph.ts";

export interface Observation {
  /** Servers that exist at the moment. */
  servers(): SimServer[];
  leases: LeaseService;
  data: StoreData;
  network: Network;
  /** Submitted workflows, by the id of their job. */
  graphs: ReadonlyMap<string, SomeGraph>;
}

/** Known before the world is complete. */
type Told = Required<Pick<Views, "rules" | "isTelling" | "hasSink">>;

/** Data of a simulated world for checkers, besides its history. @param seen called once the world is complete */
export function viewsOf({ rules, isTelling, hasSink }: Told, seen: () => Observation): Views {
  return {
    ...{ isTelling, hasSink, rules },
    graphs: () => seen().graphs,
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
