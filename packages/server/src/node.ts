import type { WorkerLife } from "@mainspring/sdk/worker-core";
import type { Logger } from "pino";
import packageJson from "../package.json" with { type: "json" };
import { soloLeases } from "./adapters/memory/solo-leases.ts";
import type { MeshBus } from "./adapters/mesh/mesh-bus.ts";
import { announced } from "./adapters/mesh/mesh-tls.ts";
import { stayAwake } from "./adapters/system/stay-awake.ts";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { offeredZones } from "./adapters/system/time-zone-data.ts";
import { addressOf, checkAdvertised, listening } from "./addresses.ts";
import { createApi } from "./api/create-api.ts";
import { createHealthApi } from "./api/create-health-api.ts";
import type { MissedWatch } from "./api/recurring/missed-watch.ts";
import { type InnerWorkerOptions, innerWorker } from "./builtin-worker.ts";
import { openBus, openKafka } from "./buses.ts";
import { checkSecret } from "./cluster-secret.ts";
import { FEATURE_LEVEL, type Feature } from "./domain/cluster/feature-level.ts";
import { startGrpcServer } from "./gateway/connections/grpc-server.ts";
import { createGateway, type Gateway } from "./gateway/gateway.ts";
import { logsOf } from "./gateway/logs/log-keeper.ts";
import { workerEventsOf } from "./gateway/worker-events.ts";
import { policiesOf } from "./handler-policies.ts";
import { builtInTasks } from "./handlers/built-in-tasks.ts";
import { type Ingest, openIngest, recordTaker, tenantOfTopic } from "./ingest.ts";
import { KnownLevel, Membership } from "./membership.ts";
import { startAnchors } from "./node-audit.ts";
import { keepFigures } from "./node-figures.ts";
import { loadOf } from "./node-load.ts";
import { type NodeSecurity, refuseNewExposed, secureNode } from "./node-security.ts";
import { durabilityOf, type NodeStore, openLeases, openStore } from "./node-store.ts";
import type { Config } from "./ops/config.ts";
import { readiness } from "./ops/health.ts";
import { Lifecycle } from "./ops/lifecycle.ts";
import { createLog } from "./ops/logging.ts";
import { createMetrics } from "./ops/metrics.ts";
import { passed, patiently } from "./patience.ts";
import type { Bus } from "./ports/bus.ts";
import type { CertificateSource } from "./ports/certificates.ts";
import type { Leases, NodeProfile } from "./ports/leases.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { SideIndex } from "./ports/side-index.ts";
import type { Retention } from "./ports/store.ts";
import { openRedis } from "./redis.ts";
import type { RedisStoreWatch } from "./redis-store-watch.ts";
import { EventHints } from "./scheduler/event-hints.ts";
import { Presence } from "./scheduler/ownership/presence.ts";
import { ALONE, SHARED, type Share } from "./scheduler/ownership/shard-ownership.ts";
import { Scheduler } from "./scheduler/scheduler.ts";
import { followStoreClock, type StoreClock } from "./scheduler/store-clock.ts";
import { keepUp } from "./scheduler/watches/upkeep.ts";
import { settingsCheck } from "./security/settings-keys.ts";
import { outletsOf, webhookRules } from "./sinks.ts";
import { watchMissed, watchRedisStore, watchStore } from "./store-watches.ts";
import { Telling } from "./telling.ts";
import { followTimeZones, type TimeZones } from "./time-zones.ts";
import { checkPlainAddresses, checkTlsOfNodes, type NodeTls, openTls } from "./tls.ts";
import { WorkerDrain } from "./worker-drain.ts";

/** A running server. */
export interface RunningNode {
  /** http://host:port of the api; without the role api, of health and metrics only. */
  readonly httpUrl: string;
  /** host:port of the gRPC server. */
  readonly grpcAddress: string;
  /** Resolves with the reason if the node can no longer serve. The program must then stop the node. */
  readonly failed: Promise<Error>;
  /**
   * Creates a worker for tasks of the program that the server runs in: without a socket in between, and without a
   * thread that lets a handler block the event loop safely. The caller starts it; it stops with the node at the latest.
   * @throws {MainspringError} BAD_OPTION
   * @throws {Error} the node has no gateway
   */
  attachWorker(options: InnerWorkerOptions): WorkerLife;
  /** Looks at the files of certificates now, and uses new ones for new connections. Without certificates, nothing happens. */
  lookAtCertificates(): Promise<void>;
  /** Takes no more work, finishes or hands back running attempts, commits, and releases its shards. Idempotent. */
  stop(): Promise<void>;
}

/** Days for which dead letters are kept, regardless of the retention of other executions. */
const DEAD_LETTER_DAYS = 90;
/** Time in ms that the built-in worker has to finish attempts at a stop. It hands back the rest. */
const FINISH_WITHIN_MS = 20_000;

/** Share of a node that has not joined the cluster yet. */
const NOTHING_YET = { placed: 0, had: 0, isSettled: false };

/** Version and feature level that a node announces to others. */
export interface Program {
  version: string;
  /** Feature level; see domain/cluster/feature-level.ts. */
  level: number;
}
const THIS: Program = { version: packageJson.version, level: FEATURE_LEVEL };

/** Dependencies of every part of a node. */
interface NodeContext {
  config: Config;
  program: Program;
  clock: Pick<StoreClock, "look" | "onLeap">;
  runtime: Runtime;
  log: Logger;
  bus: Bus;
  life: Lifecycle;
  telling: Telling;
}

/**
 * Composes a node from its configuration and starts it. Only this file knows every adapter.
 * @throws {StoreUnusable | StoreUnavailable} the store cannot serve; the message says what to do
 * @throws {AddressUnusable} an address cannot be listened on, or does not lead to this node; the message names it
 * @throws {ClusterSecretMissing} the other nodes would refuse this one
 * @throws {CertificateUnusable} a file of a certificate cannot be used; the message names the setting
 * @throws {LeasesUnusable | LeasesUnavailable} etcd cannot keep the lease of the node; the message says what to do
 * @throws {ConfigError} Kafka refuses the topics of the bus, or Redis cannot be used; the message says what to do
 * @param program version and feature level to announce; default: this program's
 */
export async function startNode(config: Config, program: Program = THIS): Promise<RunningNode> {
  const log = createLog(config.logLevel, undefined, systemRuntime());
  for (const warning of config.warnings) log.warn(warning);
  const life = new Lifecycle(log);
  // Until the node listens, nothing else keeps the process alive: the timers of a runtime do not.
  const sleep = stayAwake();
  try {
    return await start(config, program, log, life);
  } catch (error) {
    await life.stop();
    throw error;
  } finally {
    sleep();
  }
}

async function start(config: Config, program: Program, log: Logger, life: Lifecycle): Promise<RunningNode> {
  // This comes first, so that unusable data is reported before anything is changed.
  const offered = offeredZones(config.tzdata);
  await refuseNewExposed(config);
  const system = systemRuntime();
  const tls = await openTls(config, { runtime: system, log, life });
  const { bus, mesh, kafka } = openBus(config, { level: program.level, tls: tls.mesh }, system, log);
  const telling = new Telling(config.events.length > 0);
  const { store, failed } = await openStore({ config, program, runtime: system, log, bus, life, telling });
  checkPlainAddresses(config, await patiently("the store", () => store.isSinceTls(), { runtime: system, log }), log);
  const clock = await followStoreClock(store, system, log);
  life.started("clock", async () => clock.stop());
  const ground = { config, program, clock, runtime: clock.runtime, log, bus, life, telling };
  const metrics = createMetrics();
  life.started("upkeep", async () => endUpkeep());
  const endUpkeep = keepUp(store, ground.runtime, log, retentionOf(config));
  const known = new KnownLevel(program.level);
  const told = { ...policiesOf(ground, store), ...workerEventsOf(ground, store), takesSteps: known.takesSteps };
  const own = { ...ground, ...told, ...logsOf({ ...ground, metrics }, store) };
  const security = await secureNode({ ...ground, store });
  const gateway = config.roles.includes("gateway") ? createGateway({ ...own, ...security }) : null;
  // The server listens before the node is known to others, because they will connect at once.
  const grpcAddress = await serveGrpc(ground, { gateway, mesh, tls, ...security });
  const address = announced(addressOf(config, grpcAddress), tls.server !== null);
  if (mesh !== null) await checkAdvertised(mesh, address, grpcAddress);
  const leasesOfAll = mesh === null ? soloLeases() : await leasesOfCluster(ground, { store, address, tls });
  await openKafka(kafka, life, metrics);
  const index = await openRedis(ground, gateway, metrics);
  const ingest = await openIngest(ground);
  const makeWorker = workersOf(ground, gateway);
  const workerDrain = gateway === null ? null : workerDrainOf(ground, gateway, makeWorker);
  const membership = new Membership({
    leases: leasesOfAll,
    ...{ bus, runtime: ground.runtime, log, level: program.level },
    told: (nodes) => {
      mesh?.meet(nodes);
      workerDrain?.look(membership.sendsWorkersAway);
    },
  });
  known.follow(membership);
  telling.follow(() => membership.level);
  const { leases } = membership;
  const zones = await followTimeZones({ ...ground, store: store.timeZones, leases, level: program.level, offered });
  life.started("time zone data", async () => zones.stop());
  metrics.watch(() => loadOf({ gateway, store, membership, mesh, level: program.level }));
  for (const part of [zones, tls, security]) metrics.watch(() => part.readings());
  watchStore({ ...ground, store, metrics });
  const redisWatch = watchRedisStore(store, durabilityOf(config), { ...ground, metrics });
  keepFigures(ground, metrics);
  // The node listens before it owns anything: a node whose port is taken must not move shards.
  const owning = { share: (): ReturnType<Joined["share"]> => NOTHING_YET };
  const missed = watchMissed({ ...ground, store, metrics }, zones);
  const beside = { certificates: tls.server, index, ingest, ...security, share: () => owning.share(), redisWatch };
  const api = await serveHttp(ground, { store, metrics, membership, grpcAddress, zones, missed, ...beside });
  const joined = await join(ground, { store, metrics, membership, address, zones, index, ingest, ...security });
  owning.share = () => joined.share();
  life.started("gateway", async () => gateway?.close());
  life.started("built-in worker", async () => workerDrain?.stop());
  await workerDrain?.start();
  // The api is closed before the parts that it uses, and load balancers are notified before that.
  life.started("api", api.close);
  life.started("notice to load balancers", () => passed(system, config.stopDelaySec * 1_000));
  return {
    httpUrl: api.httpUrl,
    grpcAddress,
    failed: Promise.race([failed, joined.failed]),
    attachWorker: attacherOf(ground, makeWorker),
    lookAtCertificates: () => tls.look(),
    stop: () => life.stop(),
  };
}

/** Leases of the nodes of a cluster. Refuses a start beside nodes that would refuse this one. */
async function leasesOfCluster(
  ground: NodeContext,
  { store, address, tls }: { store: NodeStore; address: string; tls: NodeTls },
): Promise<Leases> {
  const leases = await openLeases(ground, store);
  const others = (await patiently("the leases", () => leases.list(), ground)).filter(({ isLiving }) => isLiving);
  checkSecret(others, ground.config);
  checkTlsOfNodes(others, address, tls.mesh);
  return leases;
}

function retentionOf({ retentionDays: days, retentionMax, eventsKeepMin, events }: Config): Retention {
  const eventSinks = events.filter((name) => name !== "api");
  const bound = retentionMax !== null && { most: retentionMax };
  return { days, ...bound, deadDays: DEAD_LETTER_DAYS, eventsMs: eventsKeepMin * 60_000, eventSinks };
}

interface Joining {
  store: NodeStore;
  metrics: ReturnType<typeof createMetrics>;
  membership: Membership;
  /** Advertised address of the node. */
  address: string;
  zones: TimeZones;
  index: SideIndex | null;
  /** Log of requests; null: there is none. */
  ingest: Ingest | null;
  tenants: NodeSecurity["tenants"];
}

interface Joined {
  /** Resolves when the node can own nothing any more. */
  readonly failed: Promise<Error>;
  share(): Share | null;
}

/** Joins the cluster: keeps the node's lease, and owns the shards that are placed on the node. */
async function join(ground: NodeContext, joining: Joining): Promise<Joined> {
  const { config, program, bus, life, runtime } = ground;
  const { store, metrics, membership, address, zones, index, ingest, tenants } = joining;
  const { leases } = membership;
  const isAlone = config.bus === "memory";
  const profile: NodeProfile = {
    incarnation: bus.node,
    name: isAlone ? bus.node : address,
    address,
    roles: config.roles,
    version: program.version,
    level: program.level,
    startedAt: runtime.now(),
    hasSecret: config.clusterSecret !== null,
    ...(config.wantsLeader && { wantsLeader: true }),
  };
  const terms = isAlone ? ALONE : SHARED;
  if (!config.roles.includes("scheduler")) {
    const presence = new Presence({ leases, profile, terms, ...ground });
    life.started("presence", () => presence.stop());
    return { failed: new Promise<Error>(() => undefined), share: () => null };
  }
  const { isOn: events } = ground.telling;
  const hints = new EventHints(bus, runtime);
  const outlets = outletsOf({ ...ground, store, metrics, owned: () => scheduler.owned });
  const eventsWritten = () => {
    hints.written();
    outlets.eventsWritten();
  };
  const written = { eventsWritten, deliveriesWritten: outlets.deliveriesWritten };
  const told = { events, ...written, exportsSpans: config.events.includes("otlp") };
  const window = config.redisWindow && index !== null ? index.window : null;
  const scheduling = { store, metrics, leases, profile, terms, zones, window, tenants };
  const scheduler = new Scheduler({ ...scheduling, ...told, ...ground });
  life.started("scheduler", () => scheduler.stop());
  await scheduler.start();
  life.started("events and webhooks", () => outlets.stop());
  outlets.start();
  startAnchors({ ...ground, store, owned: () => scheduler.owned });
  if (ingest !== null) {
    const lacking = (feature: Feature) => membership.lacking(feature);
    const taking = { store, metrics, zones, lacking, tenants, owned: () => scheduler.owned };
    const taker = recordTaker(ingest, { ...ground, ...taking });
    life.started("intake of records", () => taker.stop());
    taker.start();
  }
  return { failed: scheduler.failed, share: () => scheduler.share };
}

interface Serving extends Omit<Joining, "address">, Pick<Joined, "share">, NodeSecurity {
  grpcAddress: string;
  missed: MissedWatch | null;
  redisWatch: RedisStoreWatch | null;
  certificates: CertificateSource | null;
}

async function serveHttp(
  ground: NodeContext,
  serving: Serving,
): Promise<{ httpUrl: string; close: () => Promise<void> }> {
  const { config, program, life, runtime } = ground;
  const { store, metrics, membership, grpcAddress, zones, missed, redisWatch, share, ...rest } = serving;
  const { certificates, authenticator, ingest, tenants } = rest;
  const addresses = { http: null as string | null, grpc: grpcAddress };
  const standing = {
    isMember: () => membership.stands,
    isDraining: () => membership.isDraining,
    isStopping: () => life.isStopping,
    reach: () => membership.reach,
    missingReplicas: () => redisWatch?.missingReplicas() ?? null,
    share,
  };
  const about = {
    version: program.version,
    zones,
    addresses: () => addresses,
    storeConnections: () => store.connectionLoad(),
    durability: durabilityOf(config),
    readiness: () => readiness(store, runtime, standing),
    isStopping: standing.isStopping,
    ...(missed !== null && { missed: () => missed.found() }),
  };
  const api = config.roles.includes("api")
    ? await createApi({
        ...{ ...ground, ...rest, store, metrics, about, leases: membership.leases },
        ...(config.events.includes("api") && { events: store.events }),
        webhooks: webhookRules(config),
        ...{ takesRequests: config.sqlSubmit, servesSql: config.redisStore === null },
        ingest: ingest && { ...ingest, tenant: () => tenantOfTopic(ingest, tenants) },
        lacking: (feature) => membership.lacking(feature),
      })
    : await createHealthApi({ ...ground, authenticator, metrics, about, certificates });
  metrics.watch(() => api.admissions());
  const close = async () => void (await api.close());
  life.started("port of the api", close);
  const listensAt = await listening("MAINSPRING_HTTP", config.http, () => api.listen(config.http));
  const httpUrl = certificates === null ? listensAt : listensAt.replace(/^http:/, "https:");
  addresses.http = httpUrl;
  return { httpUrl, close };
}

interface GrpcParts extends Pick<NodeSecurity, "authenticator" | "refusals"> {
  gateway: Gateway | null;
  mesh: MeshBus | null;
  tls: NodeTls;
}

async function serveGrpc(ground: NodeContext, parts: GrpcParts): Promise<string> {
  const { gateway, mesh, authenticator, refusals, tls } = parts;
  const { config, runtime, log, life } = ground;
  const server = await listening("MAINSPRING_GRPC", config.grpc, () =>
    startGrpcServer({
      workers: gateway === null ? null : { gateway, authenticator, refusals, cluster: () => tls.mesh.cluster },
      services: mesh === null ? [] : [mesh.service],
      ...config.grpc,
      certificates: tls.server,
      isAuthorized: settingsCheck(config),
      runtime,
      log,
    }),
  );
  life.started("gRPC", async () => {
    gateway?.close();
    // The mesh closes last, because it carries the messages of the final commit.
    mesh?.close();
    await server.stop();
  });
  return server.address;
}

type MakeWorker = (options: InnerWorkerOptions) => WorkerLife;

/** Makes workers inside this server. Each has a name of its own, also if one replaces another. */
function workersOf({ runtime, log, bus }: NodeContext, gateway: Gateway | null): MakeWorker {
  let turn = 0;
  return (options) => {
    if (gateway === null) throw new Error("a node without the role gateway has no workers: see MAINSPRING_ROLES");
    return innerWorker({ gateway, incarnation: bus.node, turn: turn++, runtime, log }, options);
  };
}

function workerDrainOf({ config, runtime, log }: NodeContext, gateway: Gateway, make: MakeWorker): WorkerDrain {
  const makeWorker = () => {
    const worker = make({ tasks: builtInTasks(runtime, config.handlers) });
    return { start: () => worker.start(), stop: () => worker.stop({ timeoutMs: FINISH_WITHIN_MS }) };
  };
  return new WorkerDrain(gateway, config.builtInWorker ? makeWorker : null, log);
}

function attacherOf({ life }: NodeContext, make: MakeWorker): RunningNode["attachWorker"] {
  return (options) => {
    const worker = make(options);
    life.started("worker", () => worker.stop({ timeoutMs: FINISH_WITHIN_MS }));
    return worker;
  };
}
