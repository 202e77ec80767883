import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "../../services/postgres.ts";
import type { Stage } from "../../services/stage.ts";
import { ForkedWorker } from "../../worker/forked-worker.ts";
import type { Contender, OpenOptions, Rig } from "../contender.ts";
import { HttpLoad } from "./http-load.ts";
import { type MainspringParts, MainspringRig } from "./mainspring-rig.ts";
import { type ServerProcess, serverEnv, startServer } from "./server-process.ts";

/** How many handlers run at once in a worker of the benchmark, and how many more it may hold. */
const WORKER = { slots: 100, prefetch: 8_000, capabilities: [] as string[] };

const REMOTE = new URL("./remote-worker.ts", import.meta.url);
const INSIDE = new URL("./inside-process.ts", import.meta.url);
const SETTINGS = `${WORKER.slots} slots, prefetch ${WORKER.prefetch}, jobs over HTTP, full history kept`;

/** As users run it: a server process and a worker process. */
export const mainspring: Contender = {
  name: "mainspring",
  title: "Mainspring",
  settings: `server process, PostgreSQL, worker process over gRPC; ${SETTINGS}`,
  isPeer: false,
  hasCapabilities: true,
  open: async (stage, options) => {
    const database = await (await stage.postgres()).database();
    return await openRemote({ nodes: 1, database, ...options });
  },
};

/** Server and worker in one process. */
export const mainspringInside: Contender = {
  name: "mainspring-inside",
  title: "Mainspring, worker inside",
  settings: `server and worker in one process, PostgreSQL; ${SETTINGS}`,
  isPeer: false,
  hasCapabilities: false,
  open: openInside,
};

/** On the PostgreSQL that comes with it. */
export const mainspringEmbedded: Contender = {
  name: "mainspring-embedded",
  title: "Mainspring, embedded store",
  settings: `server process with the embedded PostgreSQL, worker process over gRPC; ${SETTINGS}`,
  isPeer: false,
  hasCapabilities: true,
  open: (_stage, options) => openRemote({ nodes: 1, database: null, ...options }),
};

/** Several servers, one PostgreSQL. @param heldBy how its work is kept from workers: see `MainspringRig.hold` */
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

/** Cost of a cluster, by its size. */
export const mainspringClusters: readonly Contender[] = [1, 2, 3].map((nodes) => mainspringCluster(nodes));

interface Remote extends OpenOptions {
  nodes: number;
  env?: Record<string, string>;
  heldBy?: MainspringParts["heldBy"];
  /** null: the embedded store. */
  database: Database | null;
}

async function openRemote({ nodes, env = {}, heldBy = "POOL", database, connections = 16 }: Remote): Promise<Rig> {
  const storeEnv = database === null ? {} : { MAINSPRING_STORE: database.url };
  const servers: ServerProcess[] = [];
  for (let n = 0; n < nodes; n++) servers.push(await startServer({ ...storeEnv, ...env }));
  const loads = servers.map(({ httpUrl }) => new HttpLoad(httpUrl, connections));
  const addresses = await Promise.all(loads.map((load) => load.grpcAddress()));
  const openWorker = (settings: object = {}) =>
    ForkedWorker.open(REMOTE, { ...WORKER, ...settings, url: addresses.join(",") });
  return new MainspringRig({
    loads,
    database,
    grpcAddresses: addresses,
    worker: await openWorker(),
    heldBy,
    serverPids: servers.map(({ pid }) => pid),
    openWorker,
    close: async () => {
      for (const server of servers.toReversed()) await server[Symbol.asyncDispose]();
    },
  });
}

async function openInside(stage: Stage, { connections = 16 }: OpenOptions = {}): Promise<Rig> {
  const database = await (await stage.postgres()).database();
  const folder = await mkdtemp(join(tmpdir(), "bench-mainspring-"));
  const env = { ...serverEnv(folder), MAINSPRING_STORE: database.url };
  const worker = await ForkedWorker.open(INSIDE, { ...WORKER, env });
  return new MainspringRig({
    loads: [new HttpLoad(worker.about["httpUrl"] ?? "", connections)],
    database,
    grpcAddresses: [],
    worker,
    // Its connection has no thread: it stops and starts as the peers do.
    heldBy: "WORKER",
    serverPids: [],
    openWorker: () => Promise.reject(new Error("a program that is server and worker in one has one worker")),
    close: () => rm(folder, { recursive: true, force: true }),
  });
}
