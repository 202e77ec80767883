import type { Client } from "@mainspring/sdk";
import type { TestEtcd } from "../../../../tools/services/start-etcd.ts";
import type { TestKafka } from "../../../../tools/services/start-kafka.ts";
import type { BesideStore } from "../environment/beside-store.ts";
import type { ChaosStore } from "../environment/chaos-store.ts";
import type { ProcessGroup } from "../environment/process-group.ts";
import type { Proxy } from "../environment/proxy/proxy.ts";
import type { Server } from "../environment/server.ts";
import type { StoreUnderTest } from "../environment/store.ts";
import type { FaultEvent, LINKS } from "../history/events.ts";
import type { HistoryFile } from "../history/history-file.ts";
import type { SeededRandom } from "../seeded-random.ts";

/** Users of a server or a cluster, and the targets of faults. */
export interface Users {
  workers: ProcessGroup;
  clients: ProcessGroup;
  client: Client;
  history: HistoryFile<FaultEvent>;
  random: SeededRandom;
  /** Process ids of workers that are stopped. */
  stopped: Set<number>;
  say(message: string): void;
}

/** One server, as the target of faults. */
export interface World extends Users {
  server: Server;
  store: StoreUnderTest;
}

/** A node of a cluster, and the links that lead to it or from it. */
export interface Node {
  /** Advertised address, by which other nodes and PostgreSQL know the node. */
  address: string;
  server: Server;
  links: Record<(typeof LINKS)[number], Proxy> & { KAFKA_LINK?: Proxy };
}

/** A cluster, as the target of faults. */
export interface ClusterWorld<Store extends ChaosStore = ChaosStore> extends Users {
  nodes: readonly Node[];
  store: Store;
  /** The etcd that keeps the leases of the nodes; null: the store keeps them. */
  etcd: TestEtcd | null;
  /** Links of all nodes to each member of etcd; empty: there is no etcd. */
  etcdLinks: readonly Proxy[];
  /** Systems for which no job waits. */
  beside: readonly BesideStore[];
  /** The Kafka that carries the bus of the nodes or the submitted jobs; null: there is none. */
  kafka: TestKafka | null;
  /** Whether Kafka carries the bus. */
  carriesBus: boolean;
}
