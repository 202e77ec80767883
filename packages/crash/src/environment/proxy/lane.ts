import type { Socket } from "node:net";
import { monotonicMs } from "../../clock.ts";

/** A unit of traffic: bytes, or the way in which the sender closed. */
type Cargo = Buffer | "END" | "RESET";

/** Size of the queue at which reading stops, in bytes, so that the sender notices that its bytes are not taken. */
const QUEUE_MAX_BYTES = 4 * 1024 * 1024;

/** One direction of a connection: forwards everything in order, as soon as the fault allows. */
export class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #reset: () => void;
  readonly #queue: { cargo: Cargo; dueMs: number }[] = [];
  #queuedBytes = 0;
  #held = false;
  #isChoked = false;
  #timer: NodeJS.Timeout | null = null;

  /** @param reset ends both directions */
  constructor(from: Socket, to: Socket, reset: () => void) {
    this.#from = from;
    this.#to = to;
    this.#reset = reset;
    to.on("drain", () => {
      this.#isChoked = false;
      this.#pump();
    });
  }

  set held(held: boolean) {
    this.#held = held;
    this.#pump();
  }

  carry(cargo: Cargo, delayMs: number): void {
    this.#queue.push({ cargo, dueMs: monotonicMs() + delayMs });
    if (typeof cargo !== "string") this.#queuedBytes += cargo.length;
    this.#pump();
    if (this.#queuedBytes > QUEUE_MAX_BYTES) this.#from.pause();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#queue.length = 0;
  }

  #pump(): void {
    for (let head = this.#queue[0]; head !== undefined; head = this.#queue[0]) {
      if (this.#held || this.#isChoked) return;
      const waitMs = head.dueMs - monotonicMs();
      if (waitMs > 0) return this.#pumpAfter(waitMs);
      this.#queue.shift();
      this.#deliver(head.cargo);
    }
    if (this.#from.isPaused()) this.#from.resume();
  }

  #pumpAfter(waitMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#pump();
    }, waitMs);
  }

  #deliver(cargo: Cargo): void {
    if (cargo === "RESET") return this.#reset();
    if (cargo === "END") return void this.#to.end();
    this.#queuedBytes -= cargo.length;
    this.#isChoked = !this.#to.write(cargo);
  }
}
