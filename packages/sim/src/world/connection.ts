import type { LinkConnection, LinkEvents } from "@mainspring/sdk/worker-core";
import type { ConnectedWorker, WorkerConnection } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { SimProcess } from "../sim-process.ts";
import type { StreamTap } from "./tap.ts";

/** Time until the gateway notices a half-open connection, in milliseconds. */
const HALF_OPEN_MS = 15_000;
/** Time until the worker notices it, in milliseconds: a worker leaves a silent gateway. */
export const SILENT_GATEWAY_MS = 3_000;

interface Ends {
  worker: SimProcess;
  server: SimProcess;
  events: LinkEvents;
  accept(connection: WorkerConnection): ConnectedWorker;
  tap: StreamTap;
}

/**
 * One stream between a worker and a gateway: in order, delayed at random, until it breaks. Messages on their way are
 * then lost.
 */
export class SimConnection implements LinkConnection {
  readonly worker: SimProcess;
  readonly server: SimProcess;
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #events: LinkEvents;
  readonly #tap: StreamTap;
  #gatewayEnd: ConnectedWorker | null = null;
  #isOpen = true;
  #lastArrivalMs = { up: 0, down: 0 };

  constructor({ worker, server, events, accept, tap }: Ends, clock: VirtualClock, random: SeededRandom) {
    this.worker = worker;
    this.server = server;
    this.#clock = clock;
    this.#random = random;
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

  /**
   * Breaks the stream, because the network failed or an end died. @param halfOpen whether both ends learn of it only
   * from the keepalive
   */
  break(halfOpen: boolean): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#tap.parted();
    const delayMs = halfOpen ? 0 : this.#random.delayMs(1);
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
    this.worker.plan(this.#random.delayMs(1), () => this.#events.closed({ code: 0, message }));
  }

  #carry(way: "up" | "down", deliver: () => void): void {
    if (!this.#isOpen) return;
    const arrivalMs = Math.max(this.#clock.nowMs + this.#random.delayMs(1), this.#lastArrivalMs[way]);
    this.#lastArrivalMs[way] = arrivalMs;
    const receiver = way === "up" ? this.server : this.worker;
    receiver.plan(arrivalMs - this.#clock.nowMs, () => {
      if (this.#isOpen) deliver();
    });
  }
}
