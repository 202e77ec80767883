import {
  createGateway,
  createIntake,
  createLog,
  followStoreClock,
  type Gateway,
  type JobIntake,
  memoryBus,
  type Runtime,
  Scheduler,
  type Store,
} from "@mainspring/server/testing";
import type { Shown } from "../checkers/counters-equal-a-recount.ts";
import type { History } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";
import { SimMetrics } from "./sim-metrics.ts";
import { tapped } from "./wiretap.ts";

/** How soon a server asks again for the time of a store that did not answer. */
const CLOCK_RETRY_MS = 500;

/** A server as a node composes it, but for sockets: the same scheduler, gateway and way of a job into the store. */
export class SimServer {
  readonly process: SimProcess;
  readonly #metrics = new SimMetrics();
  readonly #connect: (process: SimProcess, incarnation: string) => Store;
  readonly #history: History;
  #node = "";
  #gateway: Gateway | null = null;
  #intake: JobIntake | null = null;
  #store: Store | null = null;
  #cancel: ((executionId: string, shard: number) => Promise<void>) | null = null;

  constructor(process: SimProcess, connect: (process: SimProcess, incarnation: string) => Store, history: History) {
    this.process = process;
    this.#connect = connect;
    this.#history = history;
  }

  /** null until it has started. */
  get gateway(): Gateway | null {
    return this.#gateway;
  }

  get intake(): JobIntake | null {
    return this.#intake;
  }

  get store(): Store | null {
    return this.#store;
  }

  /** What it says of itself. */
  shown(): Shown {
    const workers = this.#gateway?.counters.workersConnected ?? 0;
    return { node: this.#node, gauges: { ...this.#metrics.shown(), workers }, finals: this.#metrics.finals };
  }

  async start(): Promise<void> {
    const system = this.process.runtime();
    const { name } = this.process;
    const bus = tapped(memoryBus(system.uuid()), name, this.#history);
    this.#node = bus.node;
    const log = errorLog((message) => this.#history.add({ kind: "ERROR_LOGGED", server: name, message }));
    const store = this.#connect(this.process, bus.node);
    const { runtime } = await followPatiently(() => followStoreClock(store, system, log), system);
    const parts = { store, bus, runtime, log, metrics: this.#metrics };
    // Nobody is told here, but what would be told is seen.
    bus.listen("api", () => undefined);
    const gateway = createGateway(parts);
    const scheduler = new Scheduler(parts);
    await scheduler.start();
    this.#store = store;
    this.#gateway = gateway;
    this.#intake = createIntake(parts);
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

/** Hears errors only: what goes wrong by the faults of others are warnings. */
function errorLog(heard: (message: string) => void): ReturnType<typeof createLog> {
  return createLog("error", {
    write: (line) => {
      const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
      heard(err === undefined ? msg : `${msg}: ${err.message}`);
    },
  });
}
