import {
  Commands,
  createGateway,
  createIntake,
  createLog,
  DeadLetterRuns,
  followStoreClock,
  type Gateway,
  Inbox,
  JobChanger,
  type JobIntake,
  memoryBus,
  PoolOrders,
  type Runtime,
  Scheduler,
  type Store,
} from "@mainspring/server/testing";
import type { SimProcess } from "../sim-process.ts";
import { noMetrics } from "./no-metrics.ts";

const log = createLog("silent");
/** How soon a server asks again for the time of a store that did not answer. */
const CLOCK_RETRY_MS = 500;

/** A server as a node composes it, but for sockets: the same scheduler, gateway and way of a job into the store. */
export class SimServer {
  readonly process: SimProcess;
  readonly #connect: (process: SimProcess, incarnation: string) => Store;
  #gateway: Gateway | null = null;
  #intake: JobIntake | null = null;
  #store: Store | null = null;
  #changer: JobChanger | null = null;
  #deadLetters: DeadLetterRuns | null = null;
  #cancel: ((executionId: string, shard: number) => Promise<void>) | null = null;

  constructor(process: SimProcess, connect: (process: SimProcess, incarnation: string) => Store) {
    this.process = process;
    this.#connect = connect;
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

  get deadLetters(): DeadLetterRuns | null {
    return this.#deadLetters;
  }

  get store(): Store | null {
    return this.#store;
  }

  async start(): Promise<void> {
    const system = this.process.runtime();
    const bus = memoryBus(system.uuid());
    const store = this.#connect(this.process, bus.node);
    const { runtime } = await followPatiently(() => followStoreClock(store, system, log), system);
    const parts = { store, bus, runtime, log, metrics: noMetrics };
    const gateway = createGateway(parts);
    const scheduler = new Scheduler(parts);
    await scheduler.start();
    this.#store = store;
    this.#gateway = gateway;
    this.#intake = createIntake(parts);
    const inbox = new Inbox(bus, runtime, { final: () => undefined, chatter: () => undefined });
    const commands = new Commands({ store, bus, inbox });
    this.#changer = new JobChanger({ ...parts, commands, orders: new PoolOrders(store, runtime) });
    this.#deadLetters = new DeadLetterRuns(parts);
    this.#deadLetters.start();
    this.#cancel = async (executionId, shard) => {
      const command = { id: runtime.uuid(), shard, kind: "CANCEL" as const, executionId };
      await store.addCommand(command);
      const node = bus.ownerOf(shard);
      if (node !== null) bus.send({ node, role: "scheduler" }, { kind: "COMMAND", command });
    };
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
