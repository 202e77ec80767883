import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settingsIn } from "../../../../../tools/profile/servers.ts";
import type { Database } from "../../services/postgres.ts";
import type { Stage } from "../../services/stage.ts";
import { StoreRedis } from "../../services/store-redis.ts";
import { ForkedWorker } from "../../worker/forked-worker.ts";
import type { Contender, OpenOptions, Rig } from "../contender.ts";
import { HttpLoad } from "./http-load.ts";
import { type MainspringParts, MainspringRig } from "./mainspring-rig.ts";
import { SdkLoad } from "./sdk-load.ts";
import { type ServerProcess, serverEnv, startServer } from "./server-process.ts";
import { commandOf, type SourceTree, THIS_TREE, workerFileOf } from "./source-tree.ts";

/** Number of handlers that run at once in a worker of the benchmark, and number of further jobs that it may hold. */
const WORKER = { slots: 100, prefetch: 8_000, capabilities: [] as string[] };

const FLOWS = { areTrees: false, arePolled: false };

const DEFAULTS = "20 slots, prefetch auto, jobs over HTTP, full history kept";
const SETTINGS = `${WORKER.slots} slots, prefetch ${WORKER.prefetch}, jobs over HTTP, full history kept`;

/** Forms of Mainspring that run on the PostgreSQL of the benchmark. */
export interface Forms {
  /** Usual form: a server process and a worker process. */
  readonly remote: Contender;
  /** The same with the default settings of a worker. */
  readonly byDefault: Contender;
  /** Server and worker in one process. */
  readonly inside: Contender;
  /** The same with the default settings of a worker. */
  readonly insideByDefault: Contender;
}

/** Forms of Mainspring from a source tree. */
export function formsOf(tree: SourceTree): Forms {
  const [suffix, of] = tree.label === null ? ["", ""] : [`@${tree.label}`, ` of ${tree.label}`];
  const open = (more: Partial<Remote>) => async (stage: Stage, options?: OpenOptions) =>
    openRemote({ tree, nodes: 1, database: await (await stage.postgres()).database(), ...more, ...options });
  const remote: Contender = {
    name: `mainspring${suffix}`,
    title: `Mainspring${of}`,
    settings: `server process, PostgreSQL, worker process over gRPC; ${SETTINGS}`,
    isPeer: false,
    hasCapabilities: true,
    flows: FLOWS,
    open: open({}),
  };
  const inside: Contender = {
    name: `mainspring-inside${suffix}`,
    title: `Mainspring${of}, worker inside`,
    settings: `server and worker in one process, PostgreSQL; ${SETTINGS}`,
    isPeer: false,
    hasCapabilities: false,
    flows: FLOWS,
    open: (stage, options) => openInside(tree, WORKER, stage, options),
  };
  return {
    remote,
    byDefault: {
      ...remote,
      hasOwnWorkerOnly: true,
      name: `mainspring-default${suffix}`,
      title: `Mainspring${of}, default worker`,
      settings: `server process, PostgreSQL, worker process over gRPC; ${DEFAULTS}`,
      open: open({ workerSettings: {} }),
    },
    inside,
    insideByDefault: {
      ...inside,
      hasOwnWorkerOnly: true,
      name: `mainspring-inside-default${suffix}`,
      title: `Mainspring${of}, default worker inside`,
      settings: `server and worker in one process, PostgreSQL; ${DEFAULTS}`,
      isVariant: true,
      open: (stage, options) => openInside(tree, {}, stage, options),
    },
  };
}

export const {
  remote: mainspring,
  byDefault: mainspringDefault,
  inside: mainspringInside,
  insideByDefault: mainspringInsideDefault,
} = formsOf(THIS_TREE);

/** The usual form, with submits by the SDK's client. */
export const mainspringSdk: Contender = {
  ...mainspring,
  name: "mainspring-sdk",
  title: "Mainspring, SDK's client",
  settings: `${mainspring.settings}, by the SDK's client with default settings`,
  isVariant: true,
  open: async (stage, options) => {
    const database = await (await stage.postgres()).database();
    return await openRemote({ nodes: 1, database, Load: SdkLoad, ...options });
  },
};

/** The usual form, which keeps lifecycle events and takes as many followers of them as it can. */
export const mainspringTelling: Contender = {
  ...mainspring,
  name: "mainspring-telling",
  title: "Mainspring with events",
  settings: `${mainspring.settings}, MAINSPRING_EVENTS=api`,
  open: async (stage, options) => {
    const database = await (await stage.postgres()).database();
    const env = { MAINSPRING_EVENTS: "api", MAINSPRING_STREAMS_MAX: "11000" };
    return await openRemote({ nodes: 1, env, database, ...options });
  },
};

/** Key of the settings of servers that ask for keys. */
const FIRST_KEY = "a-key-of-the-settings-of-the-bench";

/** The usual form, whose requests have a key of the store. */
export const mainspringKeyed: Contender = {
  ...mainspring,
  name: "mainspring-keyed",
  title: "Mainspring with keys",
  settings: `${mainspring.settings}, requests with a key of the store`,
  open: async (stage, options) => {
    const database = await (await stage.postgres()).database();
    return await openRemote({ nodes: 1, database, key: FIRST_KEY, ...options });
  },
};

/** The usual form, which writes a record of each request that submits jobs. */
export const mainspringAudited: Contender = {
  ...mainspring,
  name: "mainspring-audited",
  title: "Mainspring with audited submits",
  settings: `${mainspring.settings}, MAINSPRING_AUDIT_SUBMITS=batch`,
  open: async (stage, options) => {
    const database = await (await stage.postgres()).database();
    return await openRemote({ nodes: 1, database, env: { MAINSPRING_AUDIT_SUBMITS: "batch" }, ...options });
  },
};

/** The usual form, which sends lifecycle events to Kafka. */
export const mainspringToKafka: Contender = {
  ...mainspring,
  name: "mainspring-to-kafka",
  title: "Mainspring with events to Kafka",
  settings: `${mainspring.settings}, MAINSPRING_EVENTS=kafka, one broker without replicas`,
  open: async (stage, options) => {
    const [postgres, kafka] = await Promise.all([stage.postgres(), stage.kafka()]);
    const env = { MAINSPRING_EVENTS: "kafka", MAINSPRING_KAFKA: kafka.url };
    return await openRemote({ nodes: 1, env, database: await postgres.database(), ...options });
  },
};

/** Form with the embedded PostgreSQL. */
export const mainspringEmbedded: Contender = {
  name: "mainspring-embedded",
  title: "Mainspring, embedded store",
  settings: `server process with the embedded PostgreSQL, worker process over gRPC; ${SETTINGS}`,
  isPeer: false,
  hasCapabilities: true,
  open: (_stage, options) => openRemote({ nodes: 1, database: null, ...options }),
};

/** The same with the default settings of a worker. */
export const mainspringEmbeddedDefault: Contender = {
  ...mainspringEmbedded,
  name: "mainspring-embedded-default",
  title: "Mainspring, embedded store, default worker",
  settings: `server process with the embedded PostgreSQL, worker process over gRPC; ${DEFAULTS}`,
  open: (_stage, options) => openRemote({ nodes: 1, database: null, workerSettings: {}, ...options }),
};

/** Several servers on one PostgreSQL. @param heldBy way of holding back work from workers: see `MainspringRig.hold` */
export function mainspringCluster(nodes: number, heldBy: MainspringParts["heldBy"] = "WORKER"): Contender {
  return {
    name: `mainspring-${nodes}-nodes`,
    title: nodes === 1 ? "Mainspring, 1 node" : `Mainspring, ${nodes} nodes`,
    settings: `server processes with MAINSPRING_BUS=mesh, PostgreSQL, one worker process over gRPC; ${SETTINGS}`,
    isPeer: false,
    hasCapabilities: true,
    open: async (stage, options) => {
      const database = await (await stage.postgres()).database();
      return await openRemote({ nodes, env: { MAINSPRING_BUS: "mesh" }, database, heldBy, ...options });
    },
  };
}

/** Clusters of several sizes, which show the cost of a cluster. */
export const mainspringClusters: readonly Contender[] = [1, 2, 3].map((nodes) => mainspringCluster(nodes));

/** Number of the next cluster on the servers of a profile. */
let nextSpace = 1;

/** One node on a Redis without replicas, which writes its file before each answer. */
export const mainspringOnRedis: Contender = {
  name: "mainspring-on-redis",
  title: "Mainspring, Redis as the store",
  settings: `server process, Redis with appendfsync always and without replicas, worker process over gRPC; ${SETTINGS}`,
  isPeer: false,
  hasCapabilities: true,
  open: async (stage, options) => {
    const { url } = await stage.storeRedis();
    const env = { MAINSPRING_STORE: `${url}?prefix=bench${nextSpace++}` };
    return await openRemote({ nodes: 1, env, database: null, redis: await StoreRedis.at(url), ...options });
  },
};

/** Three nodes with all servers of profile A. */
export const mainspringA: Contender = {
  name: "mainspring-profile-a",
  title: "Mainspring, 3 nodes with all servers of A",
  settings: `server processes with MAINSPRING_LEADER=one, MAINSPRING_BUS=kafka, MAINSPRING_INGEST=kafka and MAINSPRING_EVENTS=kafka, Redis with appendfsync always and a replica that has each write, one worker process over gRPC; ${SETTINGS}`,
  isPeer: false,
  hasCapabilities: true,
  open: async (stage, options) => {
    const env = settingsIn(`bench${nextSpace++}`, await stage.besidePostgres("a"));
    const redis = await StoreRedis.at(env["MAINSPRING_STORE"] ?? "");
    return await openRemote({ nodes: 3, env, database: null, redis, heldBy: "WORKER", ...options });
  },
};

/** Three nodes with all servers of profile B. */
export const mainspringB: Contender = {
  name: "mainspring-profile-b",
  title: "Mainspring, 3 nodes with all servers of B",
  settings: `server processes with MAINSPRING_BUS=kafka, MAINSPRING_KAFKA_TOPICS_BY=pool, MAINSPRING_LEASES=etcd, MAINSPRING_EVENTS=kafka,clickhouse,otlp and Redis if this version has it, PostgreSQL, one worker process over gRPC; ${SETTINGS}`,
  isPeer: false,
  hasCapabilities: true,
  open: async (stage, options) => {
    const [postgres, settings] = await Promise.all([stage.postgres(), stage.besidePostgres("b")]);
    const env = settingsIn(`bench${nextSpace++}`, settings);
    return await openRemote({ nodes: 3, env, database: await postgres.database(), heldBy: "WORKER", ...options });
  },
};

/** Roles of two nodes between which every assignment and every result crosses. */
const APART = ["api,scheduler", "api,gateway"];

/** A node that owns all shards and one that has all workers, over the mesh and with assignments and results over Kafka. */
export const mainspringMesh: Contender = {
  ...mainspring,
  name: "mainspring-mesh",
  title: "Mainspring, scheduler and gateway apart",
  settings: `a node without gateway and one without scheduler, MAINSPRING_BUS=mesh, PostgreSQL, one worker process; ${SETTINGS}`,
  open: async (stage, options) => {
    const database = await (await stage.postgres()).database();
    return await openRemote({ roles: APART, nodes: 2, env: { MAINSPRING_BUS: "mesh" }, database, ...options });
  },
};

export const mainspringKafka: Contender = {
  ...mainspringMesh,
  name: "mainspring-kafka",
  title: "The same over Kafka",
  settings: mainspringMesh.settings.replace("=mesh", "=kafka, one broker without replicas"),
  open: async (stage, options) => {
    const [postgres, kafka] = await Promise.all([stage.postgres(), stage.kafka()]);
    const env = { MAINSPRING_BUS: "kafka", MAINSPRING_KAFKA: kafka.url };
    return await openRemote({ roles: APART, nodes: 2, env, database: await postgres.database(), ...options });
  },
};

/** The usual form, whose scheduler asks Redis for what falls due. */
export const mainspringWindow: Contender = {
  ...mainspring,
  name: "mainspring-window",
  title: "Mainspring with the window in Redis",
  settings: `${mainspring.settings}, MAINSPRING_REDIS_WINDOW=on`,
  open: async (stage, options) => {
    const [postgres, redis] = await Promise.all([stage.postgres(), stage.redis()]);
    const env = { MAINSPRING_REDIS: redis.url, MAINSPRING_REDIS_WINDOW: "on" };
    return await openRemote({ nodes: 1, env, database: await postgres.database(), ...options });
  },
};

interface Remote extends OpenOptions {
  tree?: SourceTree;
  nodes: number;
  /** Roles of each node; default: all. */
  roles?: readonly string[];
  env?: Record<string, string>;
  heldBy?: MainspringParts["heldBy"];
  /** Database of the store; null: Redis, or the embedded store. */
  database: Database | null;
  /** Redis that is the store; default: none. */
  redis?: StoreRedis;
  Load?: typeof HttpLoad;
  /** Key of the settings of servers and workers, for which clients create one in the store; absent: no keys. */
  key?: string;
  /** Settings of the worker; default: those of the benchmark. */
  workerSettings?: object;
}

async function openRemote(remote: Remote): Promise<Rig> {
  const { nodes, roles = [], env = {}, heldBy = "POOL", database, redis = null, connections = 16 } = remote;
  const { Load = HttpLoad, workerSettings = WORKER, tree = THIS_TREE, slots, hasTeller, key } = remote;
  const storeEnv = {
    ...(database !== null && { MAINSPRING_STORE: database.url }),
    ...(key !== undefined && { MAINSPRING_API_KEY: key }),
  };
  const servers: ServerProcess[] = [];
  for (let n = 0; n < nodes; n++) {
    const ofNode = roles[n];
    const roleEnv: Record<string, string> = ofNode === undefined ? {} : { MAINSPRING_ROLES: ofNode };
    servers.push(await startServer(commandOf(tree), { env: { ...storeEnv, ...env, ...roleEnv }, hasTeller }));
  }
  const loads = servers.map(({ httpUrl }) => new Load(httpUrl, connections));
  if (key !== undefined) await Promise.all(loads.map((load) => load.useStoredKey(key)));
  const all = await Promise.all(loads.map((load) => load.grpcAddress()));
  const addresses = all.filter((_, n) => roles[n]?.includes("gateway") ?? true);
  const openWorker = (settings: object = {}) =>
    ForkedWorker.open(workerFileOf(tree, "remote-worker"), {
      ...workerSettings,
      ...(slots !== undefined && { slots }),
      ...(key !== undefined && { apiKey: key }),
      ...settings,
      url: addresses.join(","),
    });
  return new MainspringRig({
    ...{ loads, database, redis },
    grpcAddresses: addresses,
    worker: await openWorker(),
    heldBy,
    servers,
    openWorker,
    close: async () => {
      for (const server of servers.toReversed()) await server[Symbol.asyncDispose]();
    },
  });
}

async function openInside(
  tree: SourceTree,
  settings: object,
  stage: Stage,
  { connections = 16 }: OpenOptions = {},
): Promise<Rig> {
  const database = await (await stage.postgres()).database();
  const folder = await mkdtemp(join(tmpdir(), "bench-mainspring-"));
  const env = { ...serverEnv(folder), MAINSPRING_STORE: database.url };
  const worker = await ForkedWorker.open(workerFileOf(tree, "inside-process"), { ...settings, env });
  return new MainspringRig({
    loads: [new HttpLoad(worker.about["httpUrl"] ?? "", connections)],
    ...{ database, redis: null },
    grpcAddresses: [],
    worker,
    // The worker's connection has no thread, so the worker stops and starts as the peers do.
    heldBy: "WORKER",
    servers: [],
    openWorker: () => Promise.reject(new Error("a program that is server and worker in one has one worker")),
    close: () => rm(folder, { recursive: true, force: true }),
  });
}
