import type { Client } from "@mainspring/sdk";
import type { Dice } from "../dice.ts";
import type { FaultEvent, LinkName } from "../history/events.ts";
import type { HistoryFile } from "../history/history-file.ts";
import type { Crew } from "../stage/crew.ts";
import type { ClusterStore } from "../stage/postgres/cluster-store.ts";
import type { Proxy } from "../stage/proxy/proxy.ts";
import type { Server } from "../stage/server.ts";
import type { StoreUnderTest } from "../stage/store.ts";

/** Users of a server or a cluster, and the targets of faults. */
export interface People {
  workers: Crew;
  clients: Crew;
  client: Client;
  history: HistoryFile<FaultEvent>;
  dice: Dice;
  /** Process ids of workers that are stopped. */
  stopped: Set<number>;
  say(message: string): void;
}

/** One server, and what faults are done to. */
export interface World extends People {
  server: Server;
  store: StoreUnderTest;
}

/** A node of a cluster, and the links that lead to it or from it. */
export interface Node {
  /** Advertised: what other nodes know it by, and PostgreSQL. */
  address: string;
  server: Server;
  links: Record<LinkName, Proxy>;
}

/** A cluster. */
export interface ClusterWorld extends People {
  nodes: readonly Node[];
  store: ClusterStore;
}
