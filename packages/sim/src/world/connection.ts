import type { LinkConnection, LinkEvents } from "@mainspring/sdk/worker-core";
import type { ConnectedWorker, WorkerConnection } from "@mainspring/server/testing";
import type { Dice } from "../dice.ts";
import type { SimProcess } from "../sim-process.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import type { StreamTap } from "./wiretap.ts";

/** How long a half-open connection goes unnoticed by the gateway, */
const HALF_OPEN_MS = 15_000;
/** and by the worker: it leaves a gateway that says nothing. */
export const SILENT_GATEWAY_MS = 3_000;

interface Ends {
  worker: SimProcess;
  server: SimProcess;
  events: LinkEvents;
  accept(connection: WorkerConnection): ConnectedWorker;
  tap: StreamTap;
}

/** One stream between a worker and a gateway: in order, late by dice, until it breaks. Messages under way are then lost. */
export class SimConnection implements LinkConnection {
  readonly worker: SimProcess;
  readonly server: SimProcess;
  readonly #clock: VirtualClock;
  readonly #dice: Dice;
  readonly #events: LinkEvents;
  readonly #tap: StreamTap;
  #gatewayEnd: ConnectedWorker | null = null;
  #isOpen = true;
  #lastArrivalMs = { up: 0, down: 0 };

  constructor({ worker, server, events, accept, tap }: Ends, clock: VirtualClock, dice: Dice) {
    this.worker = worker;
    this.server = server;
    this.#clock = clock;
    this.#dice = dice;
    this.#events = events;
    this.#tap = tap;
    this.#carry("up", () => {
      this.#gatewayEnd = accept({
        send: (message) => {
          tap.ordered(message);
          this.#carry("down", () => {
            tap.received(message);
            events.message(message);
          });
        },
        close: (_code, message) => this.#end(message),
      });
    });
  }

  send(message: Parameters<LinkConnection["send"]>[0]): void {
    this.#tap.said(message);
    this.#carry("up", () => {
      this.#tap.heard(message);
      this.#gatewayEnd?.receive(message);
    });
  }

  close(): void {
    this.#carry("up", () => this.#end("goodbye"));
  }

  /** The network fails, or one of the ends died. @param halfOpen nobody is told until the keepalive notices */
  break(halfOpen: boolean): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#tap.parted();
    const delayMs = halfOpen ? 0 : this.#dice.delayMs(1);
    this.server.plan(halfOpen ? HALF_OPEN_MS : delayMs, () => this.#gatewayEnd?.closed());
    this.worker.plan(halfOpen ? SILENT_GATEWAY_MS : delayMs, () =>
      this.#events.closed({ message: "the connection broke" }),
    );
  }

  #end(message: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#tap.parted();
    this.server.plan(0, () => this.#gatewayEnd?.closed());
    this.worker.plan(this.#dice.delayMs(1), () => this.#events.closed({ code: 0, message }));
  }

  #carry(way: "up" | "down", deliver: () => void): void {
    if (!this.#isOpen) return;
    const arrivalMs = Math.max(this.#clock.nowMs + this.#dice.delayMs(1), this.#lastArrivalMs[way]);
    this.#lastArrivalMs[way] = arrivalMs;
    const receiver = way === "up" ? this.server : this.worker;
    receiver.plan(arrivalMs - this.#clock.nowMs, () => {
      if (this.#isOpen) deliver();
    });
  }
}
