import type { Views } from "../checkers/all.ts";
import type { StoreData } from "../store/store-data.ts";
import type { Network } from "./network.ts";
import type { LeaseService } from "./sim-leases.ts";
import type { SimServer } from "./sim-server.ts";

export interface Seen {
  /** Servers that are there. */
  servers(): SimServer[];
  leases: LeaseService;
  data: StoreData;
  network: Network;
}

/** Views of a simulated world for checkers, beside its history. @param seen called once the world is complete */
export function viewsOf(rules: Views["rules"], seen: () => Seen): Views {
  return {
    rules,
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
