import {
  Commands,
  createGateway,
  createIntake,
  createLog,
  DeadLetterRuns,
  FEATURE_LEVEL,
  followStoreClock,
  type Gateway,
  Inbox,
  JobChanger,
  type JobIntake,
  JobPlans,
  JobRuns,
  Membership,
  type NodeProfile,
  PoolChanger,
  PoolOrders,
  type Role,
  type Runtime,
  Scheduler,
  type SchedulerParts,
  SHARED,
  type Store,
  TimeZones,
  type ZoneFilesText,
} from "@mainspring/server/testing";
import type { Shown } from "../checkers/counters-equal-a-recount.ts";
import type { History } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";
import { type Exchange, SimBus } from "./sim-bus.ts";
import type { LeaseService } from "./sim-leases.ts";
import { SimMetrics } from "./sim-metrics.ts";
import { tapped } from "./wiretap.ts";

/** How soon a server asks again for the time of a store that did not answer. */
const CLOCK_RETRY_MS = 500;

/** Surroundings that a server of the simulation reaches. */
export interface Surroundings {
  exchange: Exchange;
  leases: LeaseService;
  connect(process: SimProcess, incarnation: string): Store;
  /** A connection of its own for time zone data, whose dice nothing else throws. */
  connectZones(process: SimProcess, incarnation: string): Store;
  /** Versions of the time zone data that a server which starts now brings. */
  offered(machine: string): readonly ZoneFilesText[];
  history: History;
}

/** A server as a node composes it, but for sockets: the same scheduler, gateway and way of a job into the store. */
export class SimServer {
  readonly process: SimProcess;
  /** Its host, which keeps its name over restarts. */
  readonly machine: string;
  readonly #roles: readonly Role[];
  readonly #metrics = new SimMetrics();
  readonly #around: Surroundings;
  #node = "";
  #gateway: Gateway | null = null;
  #zones: TimeZones | null = null;
  #intake: JobIntake | null = null;
  #store: Store | null = null;
  #changer: JobChanger | null = null;
  #plans: JobPlans | null = null;
  #runs: JobRuns | null = null;
  #pools: PoolChanger | null = null;
  #deadLetters: DeadLetterRuns | null = null;
  #cancel: ((executionId: string, shard: number) => Promise<void>) | null = null;

  constructor(process: SimProcess, machine: string, roles: readonly Role[], around: Surroundings) {
    this.process = process;
    this.machine = machine;
    this.#roles = roles;
    this.#around = around;
  }

  /** null until it has started. */
  get gateway(): Gateway | null {
    return this.#gateway;
  }

  get intake(): JobIntake | null {
    return this.#intake;
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

  /** Figures that the server shows of itself. */
  shown(): Shown {
    const workers = this.#gateway?.counters.workersConnected ?? 0;
    return { node: this.#node, gauges: { ...this.#metrics.shown(), workers }, finals: this.#metrics.finals };
  }

  async start(): Promise<void> {
    const system = this.process.runtime();
    const { exchange, history } = this.#around;
    const { name } = this.process;
    const bus = tapped(new SimBus(system.uuid(), this.process, this.machine, exchange), name, history);
    this.#node = bus.node;
    const log = errorLog((message) => history.add({ kind: "ERROR_LOGGED", server: name, message }));
    const store = this.#around.connect(this.process, bus.node);
    const clock = await followPatiently(() => followStoreClock(store, system, log), system);
    const { runtime } = clock;
    const zones = await this.#followZones(bus.node, runtime, system, log);
    const parts = { store, bus, clock, runtime, log, metrics: this.#metrics, zones };
    if (this.#has("gateway")) this.#openGateway(parts);
    if (this.#has("scheduler")) await this.#schedule(parts);
    this.#store = store;
    if (!this.#has("api")) return;
    const orders = new PoolOrders(store, runtime);
    this.#intake = createIntake({ ...parts, orders });
    // Nobody is told here, but what would be told is seen.
    const inbox = new Inbox(bus, runtime, { final: () => undefined, chatter: () => undefined });
    const commands = new Commands({ store, bus, inbox });
    const leases = this.#around.leases.client(this.process);
    this.#pools = new PoolChanger({ ...parts, leases, inbox, orders });
    this.#changer = new JobChanger({ ...parts, commands, orders });
    this.#plans = new JobPlans({ ...parts, commands });
    this.#runs = new JobRuns({ ...parts, orders });
    this.#deadLetters = new DeadLetterRuns(parts);
    this.#deadLetters.start();
    this.#cancel = async (executionId, shard) => {
      const command = { id: runtime.uuid(), shard, kind: "CANCEL" as const, executionId };
      await store.addCommand(command);
      const node = bus.ownerOf(shard);
      if (node !== null) bus.send({ node, role: "scheduler" }, { kind: "COMMAND", command });
    };
  }

  async #followZones(node: string, runtime: Runtime, system: Runtime, log: SchedulerParts["log"]) {
    const { connectZones, offered } = this.#around;
    const store = connectZones(this.process, node).timeZones;
    const zones = new TimeZones({ store, runtime, log, offered: offered(this.machine), isOn: async () => true });
    await followPatiently(() => zones.start(), system);
    this.#zones = zones;
    return zones;
  }

  /** Has all servers go by a version of the time zone data, as an operator would. */
  async changeTimeZones(version: string): Promise<void> {
    await this.#zones?.changeTo(version);
  }

  #openGateway(parts: Parameters<typeof createGateway>[0]): void {
    const gateway = createGateway(parts);
    this.#metrics.watch(() => ({ workersConnected: gateway.counters.workersConnected }));
    this.#gateway = gateway;
  }

  #has(role: Role): boolean {
    return this.#roles.includes(role);
  }

  async #schedule(parts: Omit<SchedulerParts, "leases" | "profile" | "terms">): Promise<void> {
    const profile: NodeProfile = {
      incarnation: this.#node,
      name: this.machine,
      address: this.machine,
      roles: this.#roles,
      version: "simulated",
      level: FEATURE_LEVEL,
      startedAt: parts.runtime.now(),
    };
    const membership = new Membership({
      leases: this.#around.leases.client(this.process),
      ...{ bus: parts.bus, runtime: parts.runtime, log: parts.log, level: FEATURE_LEVEL },
      told: () => this.#gateway?.drain(membership.sendsWorkersAway),
    });
    const { leases } = membership;
    await new Scheduler({ ...parts, leases, profile, terms: SHARED }).start();
  }

  cancel(executionId: string, shard: number): Promise<void> {
    return this.#cancel?.(executionId, shard) ?? Promise.reject(new Error("the server is not there"));
  }
}

async function followPatiently<T>(follow: () => Promise<T>, runtime: Runtime): Promise<T> {
  for (;;) {
    try {
      return await follow();
    } catch {
      await new Promise<void>((resolve) => runtime.setTimer(CLOCK_RETRY_MS, resolve));
    }
  }
}

/** Hears errors only: what goes wrong by the faults of others are warnings. */
function errorLog(heard: (message: string) => void): ReturnType<typeof createLog> {
  return createLog("error", {
    write: (line) => {
      const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
      heard(err === undefined ? msg : `${msg}: ${err.message}`);
    },
  });
}
