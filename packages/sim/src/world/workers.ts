import type { WorkerLink } from "@mainspring/sdk/worker-core";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { SimProcess } from "../sim-process.ts";
import { SimConnection } from "./connection.ts";
import type { SimServer } from "./sim-server.ts";
import { startWorker, type WorkerShape } from "./sim-worker.ts";
import { StreamTap } from "./tap.ts";

/** Time until an operator restarts a worker with a stuck slot, in simulated milliseconds. */
const RESTART_STUCK_MS = 180_000;

/** Workers and their connections. A worker that died comes back as another process. */
export class Fleet {
  readonly workers: SimProcess[] = [];
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #connections = new Set<SimConnection>();
  #born = 0;
  #opened = 0;
  /** The worker that can run every job; there is always one. */
  #able: SimProcess | null = null;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#server = server;
  }

  /** @param able whether the worker can run every job */
  add(able: boolean): void {
    const random = this.#random;
    const name = `worker-${++this.#born}`;
    const process = new SimProcess(name, this.#clock, random.fork(name));
    const shape: WorkerShape = {
      slots: random.between(1, 8),
      prefetch: random.chance(0.5) ? "auto" : random.between(0, 8),
      capabilities: able || random.chance(0.5) ? ["gpu"] : [],
    };
    if (able) this.#able = process;
    this.workers.push(process);
    this.#history.add({ kind: "WORKER_BORN", worker: name, ...shape });
    const hangs = () => void this.#clock.plan(RESTART_STUCK_MS, () => this.#restart(process));
    startWorker(process, shape, this.#linkOf(process), { history: this.#history, hangs });
  }

  #restart(worker: SimProcess): void {
    if (!this.workers.includes(worker)) return;
    this.#history.add({ kind: "FAULT", fault: "WORKER_KILLED", on: worker.name });
    this.#end(worker, () => false);
  }

  /** Kills a worker at once; its host closes the connection, or no one does. */
  kill(worker: SimProcess): void {
    this.#end(worker, () => this.#random.chance(0.3));
  }

  #end(worker: SimProcess, isHalfOpen: () => boolean): void {
    worker.kill();
    this.workers.splice(this.workers.indexOf(worker), 1);
    this.#breakAll((connection) => connection.worker === worker, isHalfOpen);
    this.add(worker === this.#able);
  }

  breakConnections(which: (connection: SimConnection) => boolean): void {
    this.#breakAll(which, () => this.#random.chance(0.3));
  }

  /** Stops answering on connections, which the keepalive will notice. */
  abandon(which: (connection: SimConnection) => boolean): void {
    this.#breakAll(which, () => true);
  }

  #breakAll(which: (connection: SimConnection) => boolean, isHalfOpen: () => boolean): void {
    for (const connection of [...this.#connections]) {
      if (!which(connection)) continue;
      this.#connections.delete(connection);
      connection.break(isHalfOpen());
    }
  }

  #linkOf(worker: SimProcess): WorkerLink {
    return {
      open: (events) => {
        const server = this.#server();
        const gateway = server?.gateway ?? null;
        if (server === null || gateway === null || !server.process.isAlive) {
          worker.plan(this.#random.delayMs(1), () => events.closed({ code: 14, message: "nobody listens" }));
          return { send: () => undefined, close: () => undefined };
        }
        const tap = new StreamTap(worker.name, server.process.name, ++this.#opened, this.#history);
        const ends = { worker, server: server.process, events, accept: gateway.connect.bind(gateway), tap };
        const connection = new SimConnection(ends, this.#clock, this.#random.fork(`connection of ${worker.name}`));
        this.#connections.add(connection);
        return connection;
      },
    };
  }
}
