import { type Bus, type Envelope, type Mail, type MailReceiver, OwnerMap, type Role } from "@mainspring/server/testing";
import type { SimProcess } from "../sim-process.ts";
import { copied } from "./copied.ts";
import type { Network } from "./network.ts";

/** Registry by which the buses of all living servers find each other. */
export class Exchange {
  readonly network: Network;
  readonly #buses = new Map<string, SimBus>();

  constructor(network: Network) {
    this.network = network;
  }

  join(bus: SimBus): void {
    this.#buses.set(bus.node, bus);
  }

  find(node: string): SimBus | null {
    const bus = this.#buses.get(node);
    return bus?.process.isAlive ? bus : null;
  }

  /**
   * Machines that accept connections: a process that died refuses, and one that is cut off in one direction is only
   * silent.
   */
  living(): SimBus[] {
    const living: SimBus[] = [];
    for (const bus of this.#buses.values()) {
      if (bus.process.isAlive) living.push(bus);
      // The host comes back under another name, so keeping dead buses would make each lookup slower.
      else this.#buses.delete(bus.node);
    }
    return living;
  }
}

type Listener = (envelopes: readonly Envelope<Mail[MailReceiver]>[]) => void;
type Sent = { role: MailReceiver; message: Mail[MailReceiver] };

/**
 * Bus between the servers of the simulation. Within a process, it delivers in order and once. Between processes, all
 * messages of one turn to one process form one packet, to which the network applies its faults.
 */
export class SimBus implements Bus {
  readonly node: string;
  readonly process: SimProcess;
  /** Host of the server, which keeps its name over restarts. */
  readonly #machine: string;
  readonly #exchange: Exchange;
  readonly #owners = new OwnerMap();
  readonly #listeners = new Map<MailReceiver, Listener>();
  #outgoing = new Map<string, Sent[]>();

  constructor(node: string, process: SimProcess, machine: string, exchange: Exchange) {
    this.node = node;
    this.process = process;
    this.#machine = machine;
    this.#exchange = exchange;
    exchange.join(this);
  }

  ownerOf = (shard: number): string | null => this.#owners.ownerOf(shard);

  nodes = (role: Role): string[] =>
    this.#exchange
      .living()
      .filter((bus) => bus.#listeners.has(role) && !this.#exchange.network.isBroken(this.#machine, bus.#machine))
      .map(({ node }) => node);

  connected = (): string[] =>
    this.#exchange
      .living()
      .filter((bus) => !this.#exchange.network.isDisconnected(this.#machine, bus.#machine))
      .map(({ node }) => node);

  send = <R extends MailReceiver>(to: { node: string; role: R }, message: Mail[R]): void => {
    if (this.#outgoing.size === 0) queueMicrotask(() => this.#leave());
    const sent = this.#outgoing.get(to.node);
    if (sent === undefined) this.#outgoing.set(to.node, [{ role: to.role, message }]);
    else sent.push({ role: to.role, message });
  };

  listen = <R extends MailReceiver>(
    role: R,
    receive: (messages: readonly Envelope<Mail[R]>[]) => void,
  ): (() => void) => {
    this.#listeners.set(role, receive as unknown as Listener);
    return () => this.#listeners.delete(role);
  };

  #leave(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = new Map();
    for (const [node, sent] of outgoing) {
      if (node === this.node) this.#arrive(this.node, sent);
      else this.#carry(node, sent);
    }
  }

  #carry(node: string, sent: Sent[]): void {
    const to = this.#exchange.find(node);
    if (to === null) return;
    this.#exchange.network.carry(this.#machine, to.#machine, () => {
      // The packet is copied for each delivery, because the sender and each receiver may change theirs.
      const packet = copied(sent);
      return () => to.process.take(() => to.#arrive(this.node, packet));
    });
  }

  #arrive(from: string, sent: readonly Sent[]): void {
    if (!this.process.isAlive) return;
    for (const role of ["api", "scheduler", "gateway"] as const) {
      const envelopes = sent.filter((one) => one.role === role).map(({ message }) => ({ from, message }));
      if (envelopes.length === 0) continue;
      if (role === "api") for (const envelope of envelopes) this.#owners.hear(envelope as Envelope<Mail["api"]>);
      this.#listeners.get(role)?.(envelopes);
    }
  }
}
