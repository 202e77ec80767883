import type { WorkerLink } from "@mainspring/sdk/worker-core";
import type { Dice } from "../dice.ts";
import type { History } from "../history.ts";
import { SimProcess } from "../sim-process.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { SimConnection } from "./connection.ts";
import type { SimServer } from "./sim-server.ts";
import { startWorker, type WorkerShape } from "./sim-worker.ts";
import { StreamTap } from "./wiretap.ts";

/** How long it takes until somebody restarts a worker of which a slot is stuck. */
const RESTART_STUCK_MS = 180_000;

/** The workers, and the connections that they have. A worker that died comes back as another process. */
export class Fleet {
  readonly workers: SimProcess[] = [];
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #connections = new Set<SimConnection>();
  #born = 0;
  #opened = 0;
  /** There is always one that can run everything. */
  #able: SimProcess | null = null;

  constructor(clock: VirtualClock, dice: Dice, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#dice = dice;
    this.#history = history;
    this.#server = server;
  }

  /** @param able can run everything there is */
  add(able: boolean): void {
    const dice = this.#dice;
    const name = `worker-${++this.#born}`;
    const process = new SimProcess(name, this.#clock, dice.fork(name));
    const shape: WorkerShape = {
      slots: dice.between(1, 8),
      prefetch: dice.chance(0.5) ? 0 : dice.between(1, 8),
      capabilities: able || dice.chance(0.5) ? ["gpu"] : [],
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

  /** It is gone at once; its host closes its connection, or nobody does. */
  kill(worker: SimProcess): void {
    this.#end(worker, () => this.#dice.chance(0.3));
  }

  #end(worker: SimProcess, isHalfOpen: () => boolean): void {
    worker.kill();
    this.workers.splice(this.workers.indexOf(worker), 1);
    this.#breakAll((connection) => connection.worker === worker, isHalfOpen);
    this.add(worker === this.#able);
  }

  breakConnections(which: (connection: SimConnection) => boolean): void {
    this.#breakAll(which, () => this.#dice.chance(0.3));
  }

  /** The other end does not answer: the keepalive will notice. */
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
          worker.plan(this.#dice.delayMs(1), () => events.closed({ code: 14, message: "nobody listens" }));
          return { send: () => undefined, close: () => undefined };
        }
        const tap = new StreamTap(worker.name, server.process.name, ++this.#opened, this.#history);
        const ends = { worker, server: server.process, events, accept: gateway.connect.bind(gateway), tap };
        const connection = new SimConnection(ends, this.#clock, this.#dice.fork(`connection of ${worker.name}`));
        this.#connections.add(connection);
        return connection;
      },
    };
  }
}
