import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";
import { SILENT_GATEWAY_MS } from "./connection.ts";
import type { Network } from "./network.ts";
import { NowAndThen } from "./now-and-then.ts";
import type { LeaseService } from "./sim-leases.ts";
import type { SimServer } from "./sim-server.ts";
import type { Fleet } from "./workers.ts";

/** Faults of the store's connections that start here; see `store/`. */
export interface StoreTrouble {
  /** Makes the store unreachable for a while. */
  down(forMs: number): void;
}

export interface FaultTargets {
  fleet: Fleet;
  store: StoreTrouble;
  network: Network;
  leases: LeaseService;
  /** Servers that live. */
  servers(): SimServer[];
  /** All machines, including those without a server at the moment. */
  machines: readonly string[];
  kill(server: SimServer): void;
}

const FAULTS = [
  "SERVER_KILLED",
  "SERVER_PAUSED",
  "STORE_DOWN",
  "WORKER_KILLED",
  "WORKER_PAUSED",
  "CONNECTION_BROKEN",
  "CLOCK_SKEWED",
  "NETWORK_CUT",
  "LEASES_DOWN",
  "LEASES_WRONG",
] as const;
type Fault = (typeof FAULTS)[number];

/** Injects faults at random times until it is told to stop. */
export class Faults {
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #targets: FaultTargets;
  readonly #times: NowAndThen;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, targets: FaultTargets) {
    this.#random = random;
    this.#history = history;
    this.#targets = targets;
    this.#times = new NowAndThen(clock, random);
  }

  /**
   * @param everyMs mean interval of the faults, in simulated milliseconds
   * @param isWanted faults have numbers, from 0; removing one leaves the others unchanged
   */
  start(everyMs: number, isWanted: (fault: number) => boolean): void {
    let number = 0;
    this.#times.start(everyMs, () => {
      const random = this.#random.fork(`fault ${number}`);
      if (isWanted(number++)) this.#strike(random.pick(FAULTS), random);
    });
  }

  stop(): void {
    this.#times.stop();
    for (const server of this.#targets.servers()) server.process.skewMs = 0;
    this.#targets.network.heal();
    this.#targets.leases.heal();
  }

  #strike(fault: Fault, random: SeededRandom): void {
    const { fleet, servers } = this.#targets;
    const node = random.pick([...servers(), null]);
    const worker = random.pick(fleet.workers);
    const on = nameOf(fault, worker, node);
    if (on === null) return;
    const forMs = lasting(fault, random);
    this.#history.add({ kind: "FAULT", fault, on, forMs });
    if (fault === "NETWORK_CUT") this.#cut(random, forMs);
    else this.#hit(fault, worker, node, forMs);
    if (fault === "CLOCK_SKEWED" && node !== null) node.process.skewMs = random.between(-60_000, 60_000);
  }

  #hit(fault: Fault, worker: SimProcess, node: SimServer | null, forMs: number): void {
    const { fleet, store, leases, kill } = this.#targets;
    if (fault === "STORE_DOWN") store.down(forMs);
    else if (fault === "WORKER_KILLED") fleet.kill(worker);
    else if (fault === "WORKER_PAUSED") worker.pause(forMs);
    else if (fault === "CONNECTION_BROKEN") fleet.breakConnections((connection) => connection.worker === worker);
    else if (fault === "LEASES_DOWN") leases.down(forMs);
    else if (node === null) return;
    else if (fault === "SERVER_KILLED") kill(node);
    else if (fault === "SERVER_PAUSED") this.#pause(node, forMs);
    else if (fault === "LEASES_WRONG") leases.mislead(node.machine, forMs);
  }

  #pause(node: SimServer, forMs: number): void {
    node.process.pause(forMs);
    if (forMs > SILENT_GATEWAY_MS) this.#targets.fleet.abandon(({ server }) => server === node.process);
  }

  /** Cuts the network in one or both directions, between two machines, or between one and all others. */
  #cut(random: SeededRandom, forMs: number): void {
    const { network, machines } = this.#targets;
    const [one, other, isBoth] = [random.pick(machines), random.pick(machines), random.chance(0.5)];
    for (const to of random.chance(0.5) ? machines : [other]) {
      if (to === one) continue;
      network.cut(one, to, forMs);
      if (isBoth) network.cut(to, one, forMs);
    }
  }
}

function lasting(fault: Fault, random: SeededRandom): number {
  if (fault === "STORE_DOWN") return random.between(100, 20_000);
  if (["NETWORK_CUT", "LEASES_DOWN", "LEASES_WRONG"].includes(fault)) return random.pick([300, 2_000, 10_000, 40_000]);
  return fault.endsWith("_PAUSED") ? random.pick([200, 2_000, 8_000, 40_000]) : 0;
}

/** Name of the fault's target; null: there is none. */
function nameOf(fault: Fault, worker: SimProcess, node: SimServer | null): string | null {
  if (fault.startsWith("WORKER") || fault.startsWith("CONNECTION")) return worker.name;
  if (fault === "STORE_DOWN") return "the store";
  if (fault === "NETWORK_CUT") return "the network";
  if (fault === "LEASES_DOWN") return "the leases";
  return node?.process.name ?? null;
}
