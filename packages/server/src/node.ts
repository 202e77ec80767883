import type { Logger } from "pino";
import packageJson from "../package.json" with { type: "json" };
import { startEmbedded } from "./adapters/embedded/embedded-postgres.ts";
import { memoryBus } from "./adapters/memory/memory-bus.ts";
import { soloLeases } from "./adapters/memory/solo-leases.ts";
import { openSqlStore, type SqlStore } from "./adapters/sql/sql-store.ts";
import { stayAwake } from "./adapters/system/stay-awake.ts";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { timeZoneDataVersion } from "./adapters/system/time-zone-data.ts";
import { createApi } from "./api/create-api.ts";
import { authorizes } from "./api/security.ts";
import { builtinWorker } from "./builtin-worker.ts";
import { createGateway, type Gateway } from "./gateway/gateway.ts";
import { startGrpcServer } from "./gateway/grpc-server.ts";
import { builtInTasks } from "./handlers/built-in-tasks.ts";
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
import { ALONE } from "./scheduler/holdings.ts";
import { Scheduler } from "./scheduler/scheduler.ts";
import { followStoreClock } from "./scheduler/store-clock.ts";
import { keepUp } from "./scheduler/upkeep.ts";

/** A server that serves. */
export interface RunningNode {
  /** http://host:port in use */
  readonly httpUrl: string;
  /** host:port in use */
  readonly grpcAddress: string;
  /** Resolves with the reason if the node can no longer serve by itself; then stop it. */
  readonly failed: Promise<Error>;
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
  const bus = memoryBus(system.uuid());
  const { store, failed } = await openStore({ config, runtime: system, log, bus, life });
  const clock = await followStoreClock(store, system, log);
  life.started("clock", async () => clock.stop());
  const ground = { config, runtime: clock.runtime, log, bus, life };
  const metrics = createMetrics();
  life.started("upkeep", async () => endUpkeep());
  const endUpkeep = keepUp(store, ground.runtime, log, { days: config.retentionDays, deadDays: DEAD_LETTER_DAYS });

  const gateway = createGateway(ground);
  metrics.watch(() => loadOf(gateway, store));
  life.started("gateway", async () => gateway.close());
  const profile: NodeProfile = {
    incarnation: bus.node,
    name: bus.node,
    address: bus.node,
    roles: ["api", "scheduler", "gateway"],
    version: packageJson.version,
    startedAt: ground.runtime.now(),
  };
  const leases = soloLeases();
  const scheduler = new Scheduler({ store, metrics, leases, profile, terms: ALONE, ...ground });
  life.started("scheduler", () => scheduler.stop());
  await scheduler.start();
  const grpcAddress = await serveWorkers(ground, gateway);
  if (config.builtInWorker) await startBuiltinWorker(ground, gateway);

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
      readiness: () => readiness(store, bus, ground.runtime),
    },
  });
  life.started("api", () => api.close());
  const httpUrl = await listening("MAINSPRING_HTTP", config.http, () => api.listen(config.http));
  addresses.http = httpUrl;
  return { httpUrl, grpcAddress, failed: Promise.race([failed, scheduler.failed]), stop: () => life.stop() };
}

function loadOf({ counters }: Gateway, store: SqlStore): Readings {
  const pools = store.connectionLoad();
  return {
    workersConnected: counters.workersConnected,
    workersLost: counters.workersLost,
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
  const store = await openPatiently(() => openSqlStore({ connection, incarnation: bus.node, runtime, log }), ground);
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

async function serveWorkers(ground: Ground, gateway: Gateway): Promise<string> {
  const { config, runtime, log, life } = ground;
  const server = await listening("MAINSPRING_GRPC", config.grpc, () =>
    startGrpcServer({
      gateway,
      ...config.grpc,
      isAuthorized: config.apiKey === null ? () => true : authorizes(config.apiKey),
      runtime,
      log,
    }),
  );
  life.started("gRPC", async () => {
    gateway.close();
    await server.stop();
  });
  return server.address;
}

async function startBuiltinWorker({ config, runtime, log, bus, life }: Ground, gateway: Gateway): Promise<void> {
  const tasks = builtInTasks(runtime, config.handlers);
  const worker = builtinWorker({ gateway, incarnation: bus.node, runtime, log, tasks });
  life.started("built-in worker", () => worker.stop({ timeoutMs: FINISH_WITHIN_MS }));
  await worker.start();
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
