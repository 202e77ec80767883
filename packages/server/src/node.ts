import type { WorkerLife } from "@mainspring/sdk/worker-core";
import type { Logger } from "pino";
import packageJson from "../package.json" with { type: "json" };
import { startEmbedded } from "./adapters/embedded/embedded-postgres.ts";
import { memoryBus } from "./adapters/memory/memory-bus.ts";
import { soloLeases } from "./adapters/memory/solo-leases.ts";
import { MeshBus } from "./adapters/mesh/mesh-bus.ts";
import { openSqlStore, type SqlStore } from "./adapters/sql/sql-store.ts";
import { stayAwake } from "./adapters/system/stay-awake.ts";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { timeZoneDataVersion } from "./adapters/system/time-zone-data.ts";
import { createApi } from "./api/create-api.ts";
import { authorizes } from "./api/security.ts";
import { type InnerWorkerOptions, innerWorker } from "./builtin-worker.ts";
import { createGateway, type Gateway } from "./gateway/gateway.ts";
import { startGrpcServer } from "./gateway/grpc-server.ts";
import { builtInTasks } from "./handlers/built-in-tasks.ts";
import { Membership } from "./membership.ts";
import type { Config } from "./ops/config.ts";
import { readiness } from "./ops/health.ts";
import { Lifecycle } from "./ops/lifecycle.ts";
import { createLog } from "./ops/logging.ts";
import { createMetrics } from "./ops/metrics.ts";
import type { Bus } from "./ports/bus.ts";
import type { NodeProfile } from "./ports/leases.ts";
import type { Readings } from "./ports/metrics.ts";
import type { Runtime } from "./ports/runtime.ts";
import { StoreUnavailable } from "./ports/store.ts";
import { ALONE, SHARED } from "./scheduler/holdings.ts";
import { Presence } from "./scheduler/presence.ts";
import { Scheduler } from "./scheduler/scheduler.ts";
import { followStoreClock } from "./scheduler/store-clock.ts";
import { keepUp } from "./scheduler/upkeep.ts";

/** A server that serves. */
export interface RunningNode {
  /** http://host:port in use; empty where the node has no api */
  readonly httpUrl: string;
  /** host:port in use */
  readonly grpcAddress: string;
  /** Resolves with the reason if the node can no longer serve by itself; then stop it. */
  readonly failed: Promise<Error>;
  /**
   * A worker for tasks of the program that the server lives in: without a socket between, and without the thread that
   * lets a handler block the loop unharmed. To be started; it stops with the node at the latest.
   * @throws {MainspringError} BAD_OPTION
   * @throws {Error} the node has no gateway
   */
  attachWorker(options: InnerWorkerOptions): WorkerLife;
  /** Takes no more work, finishes or hands back what runs in it, writes down what it knows, and lets go. Idempotent. */
  stop(): Promise<void>;
}

/** How long dead letters are kept, whatever the retention. */
const DEAD_LETTER_DAYS = 90;
/** What the built-in worker may finish when the node stops; the rest is handed back or started again elsewhere. */
const FINISH_WITHIN_MS = 20_000;

/** How long a start waits for a store that does not answer, and how often it asks. */
const STORE_PATIENCE_MS = 60_000;
const STORE_RETRY_MS = 500;

/** What every part of a node is given. */
interface Ground {
  config: Config;
  runtime: Runtime;
  log: Logger;
  bus: Bus;
  life: Lifecycle;
}

/**
 * Composes a node from its configuration and starts it: the one place that knows every adapter.
 * @throws {StoreUnusable | StoreUnavailable} the store cannot serve; the message says what to do
 * @throws {AddressUnusable} an address cannot be listened on; the message names it
 */
export async function startNode(config: Config): Promise<RunningNode> {
  const log = createLog(config.logLevel);
  for (const warning of config.warnings) log.warn(warning);
  const life = new Lifecycle(log);
  // Until it listens, nothing else may hold the process: the timers of a runtime do not.
  const sleep = stayAwake();
  try {
    return await start(config, log, life);
  } catch (error) {
    await life.stop();
    throw error;
  } finally {
    sleep();
  }
}

async function start(config: Config, log: Logger, life: Lifecycle): Promise<RunningNode> {
  const system = systemRuntime();
  const { bus, mesh } = openBus(config, system, log);
  const { store, failed } = await openStore({ config, runtime: system, log, bus, life });
  const clock = await followStoreClock(store, system, log);
  life.started("clock", async () => clock.stop());
  const ground = { config, runtime: clock.runtime, log, bus, life };
  const metrics = createMetrics();
  life.started("upkeep", async () => endUpkeep());
  const endUpkeep = keepUp(store, ground.runtime, log, { days: config.retentionDays, deadDays: DEAD_LETTER_DAYS });

  const gateway = config.roles.includes("gateway") ? createGateway(ground) : null;
  metrics.watch(() => loadOf(gateway, store));
  // Before the node is known to others, who will connect at once.
  const grpcAddress = await serveGrpc(ground, gateway, mesh);
  const leases = mesh === null ? soloLeases() : store.leases;
  const membership = new Membership(leases, ground.runtime, (nodes) => mesh?.meet(nodes));
  const joined = await join(ground, { store, metrics, membership, address: addressOf(config, grpcAddress) });
  life.started("gateway", async () => gateway?.close());
  const attachWorker = attacherOf(ground, gateway);
  if (config.builtInWorker && gateway !== null) {
    await attachWorker({ tasks: builtInTasks(ground.runtime, config.handlers) }).start();
  }

  const httpUrl = config.roles.includes("api")
    ? await serveHttp(ground, { store, metrics, membership, grpcAddress })
    : null;
  return {
    httpUrl: httpUrl ?? "",
    grpcAddress,
    failed: Promise.race([failed, joined.failed]),
    attachWorker,
    stop: () => life.stop(),
  };
}

function openBus({ bus, apiKey }: Config, runtime: Runtime, log: Logger): { bus: Bus; mesh: MeshBus | null } {
  const node = runtime.uuid();
  if (bus === "memory") return { bus: memoryBus(node), mesh: null };
  const mesh = new MeshBus({ node, apiKey, runtime, log });
  return { bus: mesh, mesh };
}

/** Where other nodes reach this one. */
function addressOf({ advertise }: Config, listensAt: string): string {
  if (advertise === null) return listensAt;
  const { host, port } = advertise;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

interface Joining {
  store: SqlStore;
  metrics: ReturnType<typeof createMetrics>;
  membership: Membership;
  /** Advertised. */
  address: string;
}

interface Joined {
  /** Resolves when the node cannot own anything any more. */
  readonly failed: Promise<Error>;
}

/** Lets the node live, and own what is placed on it. */
async function join(ground: Ground, { store, metrics, membership, address }: Joining): Promise<Joined> {
  const { config, bus, life, runtime } = ground;
  const { leases } = membership;
  const isAlone = config.bus === "memory";
  const profile: NodeProfile = {
    incarnation: bus.node,
    name: isAlone ? bus.node : address,
    address,
    roles: config.roles,
    version: packageJson.version,
    startedAt: runtime.now(),
  };
  const terms = isAlone ? ALONE : SHARED;
  if (!config.roles.includes("scheduler")) {
    const presence = new Presence({ leases, profile, terms, ...ground });
    life.started("presence", () => presence.stop());
    return { failed: new Promise<Error>(() => undefined) };
  }
  const scheduler = new Scheduler({ store, metrics, leases, profile, terms, ...ground });
  life.started("scheduler", () => scheduler.stop());
  await scheduler.start();
  return scheduler;
}

interface Serving extends Omit<Joining, "address"> {
  grpcAddress: string;
}

async function serveHttp(ground: Ground, { store, metrics, membership, grpcAddress }: Serving): Promise<string> {
  const { config, life, bus } = ground;
  const addresses = { http: null as string | null, grpc: grpcAddress };
  const api = await createApi({
    ...ground,
    store,
    metrics,
    about: {
      version: packageJson.version,
      timeZoneData: timeZoneDataVersion(),
      addresses: () => addresses,
      storeConnections: () => store.connectionLoad(),
      readiness: () => readiness(store, bus, ground.runtime, () => membership.stands),
    },
  });
  life.started("api", () => api.close());
  const httpUrl = await listening("MAINSPRING_HTTP", config.http, () => api.listen(config.http));
  addresses.http = httpUrl;
  return httpUrl;
}

function loadOf(gateway: Gateway | null, store: SqlStore): Readings {
  const pools = store.connectionLoad();
  return {
    workersConnected: gateway?.counters.workersConnected ?? 0,
    workersLost: gateway?.counters.workersLost ?? 0,
    storeConnectionsBusy: new Map(pools.map(({ purpose, busy }) => [purpose, busy])),
    storeConnectionsMax: new Map(pools.map(({ purpose, max }) => [purpose, max])),
    storeWaiting: new Map(pools.map(({ purpose, waiting }) => [purpose, waiting])),
  };
}

async function openStore(ground: Ground): Promise<{ store: SqlStore; failed: Promise<Error> }> {
  const { config, runtime, log, bus, life } = ground;
  let connection: Parameters<typeof openSqlStore>[0]["connection"] = config.store;
  let failed = new Promise<Error>(() => undefined);
  if (config.store === "embedded") {
    const postgres = await startEmbedded({ dataDir: config.dataDir, runtime, log });
    life.started("PostgreSQL", () => postgres.stop());
    connection = postgres.connection;
    failed = postgres.exited;
  }
  const options = { connection, incarnation: bus.node, runtime, log, isShared: config.bus === "mesh" };
  const store = await openPatiently(() => openSqlStore(options), ground);
  life.started("store", () => store.close());
  return { store, failed };
}

/** A PostgreSQL that was started together with the server, or is being repaired, may need a moment. */
async function openPatiently<T>(open: () => Promise<T>, { runtime, log }: Ground): Promise<T> {
  const untilMs = runtime.monotonicMs() + STORE_PATIENCE_MS;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const leftMs = untilMs - runtime.monotonicMs();
      if (!(error instanceof StoreUnavailable) || leftMs <= 0) throw error;
      log.warn({ err: error, givingUpInSec: Math.ceil(leftMs / 1_000) }, "the store does not answer yet");
      await new Promise<void>((resolve) => runtime.setTimer(STORE_RETRY_MS, resolve));
    }
  }
}

async function serveGrpc(ground: Ground, gateway: Gateway | null, mesh: MeshBus | null): Promise<string> {
  const { config, runtime, log, life } = ground;
  const server = await listening("MAINSPRING_GRPC", config.grpc, () =>
    startGrpcServer({
      gateway,
      services: mesh === null ? [] : [mesh.service],
      ...config.grpc,
      isAuthorized: config.apiKey === null ? () => true : authorizes(config.apiKey),
      runtime,
      log,
    }),
  );
  life.started("gRPC", async () => {
    gateway?.close();
    // Last: until then it says to others what was committed at the end.
    mesh?.close();
    await server.stop();
  });
  return server.address;
}

function attacherOf({ runtime, log, bus, life }: Ground, gateway: Gateway | null): RunningNode["attachWorker"] {
  let turn = 0;
  return (options) => {
    if (gateway === null) throw new Error("a node without the role gateway has no workers: see MAINSPRING_ROLES");
    const worker = innerWorker({ gateway, incarnation: bus.node, turn: turn++, runtime, log }, options);
    life.started("worker", () => worker.stop({ timeoutMs: FINISH_WITHIN_MS }));
    return worker;
  };
}

/** An address that cannot be listened on. */
export class AddressUnusable extends Error {
  override readonly name = "AddressUnusable";
}

async function listening<T>(key: string, { host, port }: Config["http"], listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const address = `${host}:${port}`;
    const why = code === "EADDRINUSE" ? `${address} is taken by another program` : `${address}: ${message}`;
    throw new AddressUnusable(`${why}. Set ${key} to another host:port (port 0 picks a free one)`, { cause });
  }
}
