import type { Logger } from "pino";
import type { EpochMs } from "../domain/ids.ts";
import type { Assignment } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Payloads } from "./payloads.ts";

interface DeparturesParts {
  payloads: Pick<Payloads, "attach">;
  runtime: Pick<Runtime, "now" | "setTimer">;
  log: Pick<Logger, "warn">;
  /** Whether the ownership is over: nothing is sent any more. */
  isOver(): boolean;
  /** Those that may still begin; the others are given back. None once it is over. */
  stillWanted(assigns: readonly Assignment[]): readonly Assignment[];
  /** What is assigned shortly before its time must not begin before it. */
  sendableAt(assign: Assignment): EpochMs;
  /** To their gateways, now. */
  send(assigns: readonly Assignment[]): void;
}

/** How long a failed read of payloads waits before it is repeated. */
const PAYLOAD_RETRY_MS = 200;

/** Assignments that are durable on their way out: with their payloads, when they are due, and if they are wanted after each wait. */
export class Departures {
  readonly #parts: DeparturesParts;

  constructor(parts: DeparturesParts) {
    this.#parts = parts;
  }

  /** @param assigns still wanted; once anything was waited for that is looked at again */
  async send(assigns: readonly Assignment[]): Promise<void> {
    const { payloads, runtime, log, isOver, stillWanted } = this.#parts;
    let reading = payloads.attach(assigns);
    if (reading === null) return this.#sendWhenDue(assigns);
    for (;;) {
      try {
        await reading;
        return this.#sendWhenDue(stillWanted(assigns));
      } catch (error) {
        log.warn({ err: error }, "payloads could not be read and are tried again");
        await new Promise<void>((resolve) => runtime.setTimer(PAYLOAD_RETRY_MS, resolve));
      }
      if (isOver()) return;
      reading = payloads.attach(assigns);
    }
  }

  #sendWhenDue(assigns: readonly Assignment[]): void {
    const { runtime, stillWanted, sendableAt, send } = this.#parts;
    const now = runtime.now();
    const early = assigns.filter((assign) => sendableAt(assign) > now);
    if (early.length === 0) return send(assigns);
    if (early.length < assigns.length) send(assigns.filter((assign) => sendableAt(assign) <= now));
    const nextAt = Math.min(...early.map((assign) => sendableAt(assign)));
    runtime.setTimer(nextAt - now, () => this.#sendWhenDue(stillWanted(early)));
  }
}
