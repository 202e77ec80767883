import { chmod } from "node:fs/promises";
import { Client } from "@mainspring/sdk";
import { PROFILES } from "../../../../tools/profile/profiles.ts";
import { startEtcd, type TestEtcd } from "../../../../tools/services/start-etcd.ts";
import type { ClusterWorld, Node } from "../faults/world.ts";
import { inTurn } from "../load/in-turn.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { startBesideStores } from "./beside-store.ts";
import type { ChaosStore } from "./chaos-store.ts";
import { freePort } from "./free-port.ts";
import { type ClusterKafka, clusterIngest, EndsInTopic, startClusterKafka } from "./kafka-listeners.ts";
import { ClusterStore } from "./postgres/cluster-store.ts";
import { Proxy } from "./proxy/proxy.ts";
import type { Release } from "./release.ts";
import { Server } from "./server.ts";
import { opened, processGroup, SLOTS, type Testbed, testbed } from "./testbed.ts";

export interface ClusterEnvironment<Store extends ChaosStore = ClusterStore> extends ClusterWorld<Store>, Testbed {}

export type ChaosBus = "MESH" | "KAFKA" | "KAFKA_STRICT";

/** Profile of `npm run profile`. */
export type ChaosProfile = "a" | "b";

export type ChaosIngest = "direct" | "fallback" | "kafka";

interface ClusterOptions {
  folder: string;
  nodes: number;
  /** Jobs a second of each client, all of them small; default: clients submit all kinds of jobs. */
  steadyRate?: number;
  /** Whether nodes run jobs themselves; default: no. */
  hasBuiltInWorkers?: boolean;
  /** Whether nodes know all addresses of PostgreSQL and find the primary themselves; default: proxies lead to it. */
  findsPrimary?: boolean;
  /** Service that keeps the leases of the nodes; default: the store. */
  leases?: "store" | "etcd";
  /** Bus of the nodes. KAFKA_STRICT: messages for Kafka wait for it. Default: the mesh. */
  bus?: ChaosBus;
  /** Way of submitted jobs; default: into the store directly. */
  ingest?: ChaosIngest;
  /** Profile whose settings the nodes have, and whose systems run; default: none. Needs the bus on Kafka. */
  profile?: ChaosProfile | null;
  /** Release with which nodes and workers start; default: this one. */
  release?: Release;
  random: SeededRandom;
  say(message: string): void;
}

/** Starts a PostgreSQL and nodes on it, with a proxy on every link, and without workers and clients. */
export async function openCluster(options: ClusterOptions): Promise<ClusterEnvironment> {
  const { folder, findsPrimary = false } = options;
  // PostgreSQL runs as another user, who needs access to its own folder in this one.
  await chmod(folder, 0o711);
  const store = await ClusterStore.open(folder);
  return await openClusterOn(store, options, findsPrimary ? { MAINSPRING_STORE: store.urlOfAll } : {});
}

/**
 * Starts nodes on a store, with a proxy on every link, and without workers and clients.
 * @param more settings of each node
 */
export async function openClusterOn<Store extends ChaosStore>(
  store: Store,
  options: ClusterOptions,
  more: Record<string, string> = {},
): Promise<ClusterEnvironment<Store>> {
  const { folder, nodes: count, steadyRate, hasBuiltInWorkers = false, random, say } = options;
  const { release, leases = "store", bus = "MESH", ingest: mode = "direct", profile = null } = options;
  const etcd = leases === "etcd" ? await linkedEtcd() : null;
  const beside = profile === "b" ? await startBesideStores() : null;
  const kafka = bus === "MESH" && mode === "direct" ? null : await startClusterKafka(count);
  const ends = kafka !== null && profile === "a" ? new EndsInTopic(kafka.kafka) : null;
  const ingest = kafka === null || mode === "direct" ? null : clusterIngest(mode, kafka.kafka);
  const settings = {
    ...(bus !== "MESH" && busSettings(bus, profile, random)),
    ...(profile !== null && PROFILES[profile]?.settings),
    ...((ingest !== null || profile !== null) && { MAINSPRING_INGEST: mode }),
    ...{ ...store.settings, ...etcd?.settings, ...beside?.settings, ...more },
  };
  const site = { folder, store, kafka, settings, hasBuiltInWorkers, release };
  const nodes = await Promise.all(Array.from({ length: count }, (_, index) => buildNode(site, index + 1)));
  const servers = nodes.map(({ server }) => server);
  const gateways = nodes.map(({ addresses }) => addresses.GATEWAY_LINK).join(",");
  const apis = nodes.map(({ addresses }) => `http://${addresses.API_LINK}`).join(",");
  const prefetchOf = (hired: number) => (hired % 2 === 0 ? "0" : "20");
  const workers = processGroup("worker", folder, (file, hired) => [gateways, file, SLOTS, prefetchOf(hired)], {
    ...(release !== undefined && { program: release.worker }),
  });
  // No fault of a link touches the applications that share the store.
  const shared = new Proxy(store.target);
  const storeOfApplications = store.isShared ? [store.urlBy(shared, await shared.listen())] : [];
  const submitterArguments = (file: string) => [apis, file, String(random.between(1, 1e6))];
  const last = steadyRate === undefined ? storeOfApplications : [String(steadyRate)];
  const clientArguments = (file: string) => [...submitterArguments(file), ...last];
  // The judge connects to the servers directly, not through the proxies.
  const urls = servers.map(({ httpUrl }) => httpUrl);
  const users = testbed({
    folder,
    servers,
    hasApplications: store.isShared && steadyRate === undefined,
    ingest,
    endsInReplica: beside?.endsInReplica ?? (ends && (() => ends.read())),
    workers,
    clients: processGroup(steadyRate === undefined ? "client" : "steady", folder, clientArguments),
    // Nodes of a release before know of no requests, so applications ask the node that is upgraded first.
    applications: processGroup("application", folder, (file) => [
      ...[`http://${nodes[0]?.addresses.API_LINK}`, file, String(random.between(1, 1e6)), ...storeOfApplications],
      ...(steadyRate === undefined ? [] : ["easy"]),
    ]),
    signallers: processGroup("signaller", folder, submitterArguments),
    // The client retries for as long as users' clients do, because several retries may all reach the node that is down.
    client: new Client({ url: urls[0] as string, fetch: inTurn(urls), timeoutMs: 10_000 }),
    random,
    say,
    closeRest: async () => {
      await Promise.all(nodes.flatMap(({ links }) => Object.values(links).map((link) => link.close())));
      await shared.close();
      await etcd?.stop();
      await beside?.stop();
      await ends?.close();
      await kafka?.kafka.stop();
      await store.close();
    },
  });
  const systems = {
    ...{ etcd: etcd?.etcd ?? null, etcdLinks: etcd?.links ?? [], kafka: kafka?.kafka ?? null },
    carriesBus: bus !== "MESH",
    beside: beside?.systems ?? [],
  };
  return opened({ ...users, nodes, store, ...systems });
}

interface Site {
  folder: string;
  store: ChaosStore;
  kafka: ClusterKafka | null;
  /** Settings that all nodes have. */
  settings: Record<string, string>;
  hasBuiltInWorkers: boolean;
  release: Release | undefined;
}

/** An etcd with a proxy on the way of all nodes to each member. */
async function linkedEtcd() {
  const etcd: TestEtcd = await startEtcd();
  const targets = etcd.members.map(({ endpoint }) => new URL(`http://${endpoint}`));
  const links = targets.map(({ hostname, port }) => new Proxy({ host: hostname, port: Number(port) }));
  const addresses = await Promise.all(links.map((link) => link.listen()));
  return {
    ...{ etcd, links },
    settings: { MAINSPRING_LEASES: "etcd", MAINSPRING_ETCD: `http://${addresses.join(",")}/test` },
    async stop() {
      await Promise.all(links.map((link) => link.close()));
      await etcd.stop();
    },
  };
}

function busSettings(bus: ChaosBus, profile: ChaosProfile | null, random: SeededRandom): Record<string, string> {
  // Without a profile that decides: one topic for each pool, or one for all. Both must work.
  const isByPool = profile === null && random.chance(0.5);
  return {
    ...{ MAINSPRING_BUS: "kafka", MAINSPRING_KAFKA_TOPICS_BY: isByPool ? "pool" : "one" },
    ...(bus === "KAFKA_STRICT" && { MAINSPRING_BUS_FALLBACK: "none" }),
  };
}

async function buildNode(site: Site, number: number) {
  const { folder, store, kafka, settings, hasBuiltInWorkers, release } = site;
  const toKafka = kafka?.links[number - 1];
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const host = "127.0.0.1";
  const grpc = { host, port: grpcPort };
  const links = {
    STORE_LINK: new Proxy(store.target),
    MESH_LINK: new Proxy(grpc),
    GATEWAY_LINK: new Proxy(grpc),
    API_LINK: new Proxy({ host, port: httpPort }),
    ...(toKafka !== undefined && { KAFKA_LINK: toKafka.link }),
  } satisfies Node["links"];
  const addresses = {
    STORE_LINK: await links.STORE_LINK.listen(await freePort()),
    MESH_LINK: await links.MESH_LINK.listen(await freePort()),
    GATEWAY_LINK: await links.GATEWAY_LINK.listen(await freePort()),
    API_LINK: await links.API_LINK.listen(await freePort()),
  };
  const env = {
    MAINSPRING_STORE: store.urlBy(links.STORE_LINK, addresses.STORE_LINK),
    MAINSPRING_BUS: "mesh",
    ...settings,
    ...(toKafka !== undefined && { MAINSPRING_KAFKA: toKafka.url }),
    MAINSPRING_STOP_DELAY_SEC: "0",
    MAINSPRING_ADVERTISE: addresses.MESH_LINK,
    MAINSPRING_BUILTIN_WORKER: hasBuiltInWorkers ? "on" : "off",
  };
  const name = `node-${number}`;
  const command = release !== undefined && { command: release.command };
  const server = new Server({ folder, name, httpPort, grpcPort, env, ...command });
  return { server, links, addresses, address: addresses.MESH_LINK };
}
