import {
  BesideStore,
  CancelSettler,
  Commands,
  cancelOrKeep,
  createGateway,
  createIntake,
  createSubmitter,
  DeadLetterRuns,
  decodeNodes,
  eventId,
  FEATURE_LEVEL,
  followStoreClock,
  type Gateway,
  Inbox,
  type JobAcceptor,
  JobChanger,
  type JobIntake,
  JobPlans,
  type JobRequestJudge,
  JobRuns,
  LiveView,
  Membership,
  type NodeProfile,
  nodeExecutionId,
  OwnShards,
  PoolChanger,
  PoolOrderings,
  passSignal,
  Relays,
  RequestTaker,
  type Role,
  RunReader,
  type Runtime,
  Scheduler,
  type SchedulerDependencies,
  SHARED,
  SimMetrics,
  type Store,
  sendSignal,
  TenantStores,
  TimeZones,
  WebhookSender,
  WorkerEvents,
  WorkflowIntake,
  WorkflowRetrier,
  type ZoneFilesText,
} from "@mainspring/server/testing";
import type { Shown } from "../checkers/counters-equal-a-recount.ts";
import type { History } from "../history.ts";
import { errorLog, type SimProcess } from "../sim-process.ts";
import { sealAudit } from "./audited-pools.ts";
import type { OtherSystems } from "./other-systems.ts";
import { type ServerKeys, serverKeys } from "./revoked-keys.ts";
import { type Exchange, SimBus } from "./sim-bus.ts";
import { acceptorOf, type Clocked, judgeOf, takeRecords, type Zoned } from "./sim-ingest.ts";
import type { LeaseService } from "./sim-leases.ts";
import { tapped } from "./tap.ts";
import { TENANT } from "./tenant.ts";

/** Time until a server again asks a store that did not answer for its time, in simulated milliseconds. */
const CLOCK_RETRY_MS = 500;

/** Time without a delivery after which a webhook is disabled, in simulated milliseconds: three days. */
const DISABLE_AFTER_MS = 3 * 86_400_000;

/** Environment of a simulated server. */
export interface ServerContext {
  exchange: Exchange;
  leases: LeaseService;
  connect(process: SimProcess, incarnation: string): Store;
  /** Creates a connection of its own for time zone data, whose random numbers nothing else draws. */
  connectZones(process: SimProcess, incarnation: string): Store;
  /** Versions of the time zone data that a server brings if it starts now. */
  offered(machine: string): readonly ZoneFilesText[];
  history: History;
  /** Sizes of the scheduler's reads; absent: those of the product. */
  readSizes: SchedulerDependencies["readSizes"];
  /** Whether the server writes lifecycle events. */
  events: () => boolean;
  /** Whether the gateway of such a server tells the sessions of workers. */
  tellsWorkers: boolean;
  systems: OtherSystems | null;
  /** Whether the server wants one node to own all shards. */
  wantsLeader: boolean;
  /** Whether the server takes in requests of applications. */
  takesRequests: boolean;
}

/** A server with the same parts as a node, except for sockets: the same scheduler, gateway and submit path. */
export class SimServer {
  readonly process: SimProcess;
  /** Host of the server, which keeps its name over restarts. */
  readonly machine: string;
  readonly #roles: readonly Role[];
  readonly #metrics = new SimMetrics();
  readonly #context: ServerContext;
  #node = "";
  #gateway: Gateway | null = null;
  #zones: TimeZones | null = null;
  #intake: JobIntake | null = null;
  #workflows: WorkflowIntake | null = null;
  #retrier: WorkflowRetrier | null = null;
  #store: Store | null = null;
  #changer: JobChanger | null = null;
  #plans: JobPlans | null = null;
  #runs: JobRuns | null = null;
  #pools: PoolChanger | null = null;
  #deadLetters: DeadLetterRuns | null = null;
  #cancel: ((executionId: string, shard: number) => Promise<void>) | null = null;
  #cancelOrKeep: ((executionId: string) => ReturnType<typeof cancelOrKeep>) | null = null;
  #signal: ((executionId: string, signal: SentSignal) => Promise<void>) | null = null;
  #order: SimServer["order"] | null = null;
  #acceptor: JobAcceptor | null = null;
  #signalNode: SimServer["signalNode"] | null = null;
  #keys: ServerKeys | null = null;

  constructor(process: SimProcess, machine: string, roles: readonly Role[], context: ServerContext) {
    this.process = process;
    this.machine = machine;
    this.#roles = roles;
    this.#context = context;
  }

  /** Gateway of the server; null: the server has not started yet. */
  get gateway(): Gateway | null {
    return this.#gateway;
  }

  get intake(): JobIntake | null {
    return this.#intake;
  }

  get workflows(): WorkflowIntake | null {
    return this.#workflows;
  }

  get retrier(): WorkflowRetrier | null {
    return this.#retrier;
  }

  get changer(): JobChanger | null {
    return this.#changer;
  }

  get plans(): JobPlans | null {
    return this.#plans;
  }

  get runs(): JobRuns | null {
    return this.#runs;
  }

  get pools(): PoolChanger | null {
    return this.#pools;
  }

  get deadLetters(): DeadLetterRuns | null {
    return this.#deadLetters;
  }

  get store(): Store | null {
    return this.#store;
  }

  get keys(): ServerKeys | null {
    return this.#keys;
  }

  /** Metrics of the server. */
  shown(): Shown {
    const workers = this.#gateway?.counters.workersConnected ?? 0;
    return { node: this.#node, gauges: { ...this.#metrics.shown(), workers }, finals: this.#metrics.finals };
  }

  async start(): Promise<void> {
    const system = this.process.runtime();
    const { exchange, history } = this.#context;
    const { name } = this.process;
    const bus = tapped(new SimBus(system.uuid(), this.process, this.machine, exchange), name, history);
    this.#node = bus.node;
    const log = errorLog((message) => history.add({ kind: "ERROR_LOGGED", server: name, message }));
    const store = this.#context.connect(this.process, bus.node);
    const clock = await followPatiently(() => followStoreClock(store, system, log), system);
    const { runtime } = clock;
    const zones = await this.#followZones(bus.node, runtime, system, log);
    const stores = new TenantStores(store);
    if (this.#context.systems?.revoked != null)
      this.#keys = await followPatiently(() => serverKeys({ store, bus, runtime, log }), system);
    const refreshKeys = this.#keys?.refresh;
    const deps = { store, stores, bus, clock, runtime, log, metrics: this.#metrics, zones, refreshKeys };
    if (this.#has("gateway")) this.#openGateway(deps);
    if (this.#has("scheduler")) await this.#schedule(deps);
    this.#store = store;
    if (!this.#has("api")) return;
    const orderings = new PoolOrderings(store, runtime);
    const ownShards = new OwnShards(bus);
    this.#intake = createIntake({ ...deps, orderings, ownShards, quotas: this.#context.systems?.quotas(deps) });
    this.#acceptor = acceptorOf({ ...deps, ownShards }, this.#context.systems?.log?.log(this.process));
    if (this.#context.takesRequests) this.#takeRequests({ ...deps, orderings, intake: this.#intake });
    this.#workflows = new WorkflowIntake({ submitter: createSubmitter(deps), runtime, zones, ownShards });
    // No client waits here, but the messages are observed.
    const inbox = new Inbox(bus, runtime, {
      final: () => undefined,
      output: () => undefined,
      written: () => undefined,
      keysChanged: () => void refreshKeys?.(),
    });
    const commands = new Commands({ store, bus, inbox });
    const reader = new RunReader(stores, store.runs, new LiveView(bus, inbox, runtime));
    this.#retrier = new WorkflowRetrier({ ...deps, orderings, runs: reader, intake: this.#intake });
    const leases = this.#context.leases.client(this.process);
    this.#pools = new PoolChanger({ ...deps, leases, inbox, orderings });
    this.#changer = new JobChanger({ ...deps, commands, orderings, ownShards });
    this.#plans = new JobPlans({ ...deps, commands });
    this.#runs = new JobRuns({ ...deps, orderings });
    this.#deadLetters = new DeadLetterRuns(deps);
    this.#deadLetters.start();
    this.#cancel = (executionId, shard) => commands.leave({ id: runtime.uuid(), shard, kind: "CANCEL", executionId });
    this.#keepCancels({ ...deps, commands });
    this.#signal = async (executionId, signal) => {
      await sendSignal({ runtime, stores, store, commands }, TENANT, executionId, signal);
    };
    this.#order = async (kind, run) => {
      const view = await store.queries.getRun("default", run);
      if (view === null || view.finishedAt !== null) return;
      const command = { id: runtime.uuid(), shard: view.shard, kind, executionId: run };
      await store.addCommand(command);
      commands.pass(command);
    };
    this.#signalNode = async (run, node, signal) => {
      const view = await store.queries.getRun("default", run);
      if (view === null || view.finishedAt !== null) return;
      const isKeyed = decodeNodes(view.definitions)[node]?.concurrencyKey !== undefined && ({ isKeyed: true } as const);
      const ofNode = { run, node, ...isKeyed };
      const to = { shard: view.shard, executionId: nodeExecutionId(run, node, null, 0), ofNode };
      await passSignal({ runtime, store, commands }, to, signal);
    };
  }

  #takeRequests(deps: Omit<ConstructorParameters<typeof JobRequestJudge>[0], "handlers" | "pools"> & Taking): void {
    const judge = judgeOf(deps);
    new RequestTaker({ ...deps, store: deps.store.requests, judge }).start();
  }

  /** Takes cancellations while the store is away, where the servers have an index beside it. */
  #keepCancels({ stores, runtime, log, commands }: Keeping): void {
    const index = this.#context.systems?.index?.index(this.process) ?? null;
    const cancels = index?.cancels ?? null;
    const reader = { read: (tenant: typeof TENANT, id: string) => stores.of(tenant).queries.getExecution(id) };
    this.#cancelOrKeep = (executionId) =>
      cancelOrKeep({ runtime, commands, reader, cancels: () => cancels }, TENANT, executionId);
    if (cancels === null) return;
    new CancelSettler({ cancels, stores, commands, runtime, log }).start();
  }

  /** Accepts a job by the log of requests, as the API does. */
  accept(...asked: Parameters<JobAcceptor["accept"]>): ReturnType<JobAcceptor["accept"]> {
    return this.#acceptor?.accept(...asked) ?? Promise.reject(new Error("the server is not there"));
  }

  async #followZones(node: string, runtime: Runtime, system: Runtime, log: SchedulerDependencies["log"]) {
    const { connectZones, offered } = this.#context;
    const store = connectZones(this.process, node).timeZones;
    const zones = new TimeZones({ store, runtime, log, offered: offered(this.machine), isOn: async () => true });
    await followPatiently(() => zones.start(), system);
    this.#zones = zones;
    return zones;
  }

  /** Switches all servers to a version of the time zone data, as an operator would. */
  async changeTimeZones(version: string): Promise<void> {
    await this.#zones?.changeTo(version);
  }

  #openGateway(deps: Parameters<typeof createGateway>[0] & { store: Store }): void {
    const { store, runtime, log } = deps;
    const told = this.#context.tellsWorkers ? { events: store.events, runtime, log, isOn: this.#context.events } : null;
    const gateway = createGateway({ ...deps, ...(told !== null && { workerEvents: new WorkerEvents(told) }) });
    this.#metrics.watch(() => ({ workersConnected: gateway.counters.workersConnected }));
    this.#gateway = gateway;
    const index = this.#context.systems?.index?.index(this.process) ?? null;
    if (index !== null) new BesideStore({ node: this.#node, gateway, index, runtime, log }).start();
  }

  #has(role: Role): boolean {
    return this.#roles.includes(role);
  }

  async #schedule(deps: Omit<SchedulerDependencies, "leases" | "profile" | "terms"> & Clocked & Zoned): Promise<void> {
    const profile: NodeProfile = {
      incarnation: this.#node,
      name: this.machine,
      address: this.machine,
      roles: this.#roles,
      version: "simulated",
      level: FEATURE_LEVEL,
      startedAt: deps.runtime.now(),
      ...(this.#context.wantsLeader && { wantsLeader: true }),
    };
    const membership = new Membership({
      leases: this.#context.leases.client(this.process),
      ...{ bus: deps.bus, runtime: deps.runtime, log: deps.log, level: FEATURE_LEVEL },
      told: () => this.#gateway?.drain(membership.sendsWorkersAway),
    });
    const { leases } = membership;
    const { readSizes, events } = this.#context;
    const relays = this.#relays(deps, () => scheduler.owned);
    const webhooks = this.#webhooks(deps, () => scheduler.owned);
    const tenants = this.#context.systems?.tenants(deps);
    const told = { events, tenants, eventsWritten: relays?.wake, deliveriesWritten: webhooks?.wake };
    const window = this.#context.systems?.index?.index(this.process).window ?? null;
    const scheduler = new Scheduler({ ...deps, leases, profile, terms: SHARED, readSizes, window, ...told });
    await scheduler.start();
    if (this.#context.systems?.audited != null) sealAudit(deps, () => scheduler.owned);
    relays?.start();
    webhooks?.start();
    takeRecords(
      { ...deps, metrics: this.#metrics, owned: () => scheduler.owned },
      this.#context.systems?.log?.log(this.process),
    );
  }

  #webhooks(
    { store, runtime, log }: Pick<SchedulerDependencies, "store" | "runtime" | "log">,
    owned: Relaying,
  ): WebhookSender | null {
    const receiver = this.#context.systems?.receiver ?? null;
    if (receiver === null) return null;
    const terms = { secrets: ["whsec_simulated"], disableAfterMs: DISABLE_AFTER_MS, encode: eventId };
    return new WebhookSender({
      store: store.webhooks,
      post: receiver.post(this.process),
      owned,
      ...terms,
      runtime,
      log,
    });
  }

  #relays(
    { store, runtime, log }: Pick<SchedulerDependencies, "store" | "runtime" | "log">,
    owned: Relaying,
  ): Relays | null {
    const sink = this.#context.systems?.sink ?? null;
    if (sink === null) return null;
    return new Relays({
      sinks: [sink.sink(this.process)],
      store,
      runtime,
      log,
      owned,
      maxBytes: Number.MAX_SAFE_INTEGER,
    });
  }

  cancel(executionId: string, shard: number): Promise<void> {
    return this.#cancel?.(executionId, shard) ?? Promise.reject(new Error("the server is not there"));
  }

  /** Cancels as the API does, which keeps the request while the store is away. */
  cancelOrKeep(executionId: string): ReturnType<typeof cancelOrKeep> {
    return this.#cancelOrKeep?.(executionId) ?? Promise.reject(new Error("the server is not there"));
  }

  /** Sends a signal as the API does. */
  signal(executionId: string, signal: SentSignal): Promise<void> {
    return this.#signal?.(executionId, signal) ?? Promise.reject(new Error("the server is not there"));
  }

  /** Pauses or resumes a run as the API does. */
  order(kind: "PAUSE_RUN" | "RESUME_RUN", run: string): Promise<void> {
    return this.#order?.(kind, run) ?? Promise.reject(new Error("the server is not there"));
  }

  /** Sends a signal to a node of a run as the API does. */
  signalNode(run: string, node: number, signal: SentSignal): Promise<void> {
    return this.#signalNode?.(run, node, signal) ?? Promise.reject(new Error("the server is not there"));
  }
}

type Relaying = () => Scheduler["owned"];

type Keeping = Pick<SchedulerDependencies, "runtime" | "log"> & { stores: TenantStores; commands: Commands };

type Taking = Pick<ConstructorParameters<typeof RequestTaker>[0], "bus" | "runtime" | "metrics" | "log"> & {
  store: Store;
};
type SentSignal = Parameters<typeof sendSignal>[3];

async function followPatiently<T>(follow: () => Promise<T>, runtime: Runtime): Promise<T> {
  for (;;) {
    try {
      return await follow();
    } catch {
      await new Promise<void>((resolve) => runtime.setTimer(CLOCK_RETRY_MS, resolve));
    }
  }
}
