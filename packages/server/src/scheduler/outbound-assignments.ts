import type { Logger } from "pino";
import type { EpochMs } from "../domain/ids.ts";
import { isStillWanted, sendableAt } from "../engine/queue/unsent.ts";
import type { MachineState } from "../engine/state.ts";
import type { Bus } from "../ports/bus.ts";
import type { Assignment } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Payloads } from "./reading/payloads.ts";

interface DeparturesParts {
  state: Pick<MachineState, "entries">;
  bus: Pick<Bus, "send">;
  payloads: Pick<Payloads, "attach">;
  runtime: Pick<Runtime, "now" | "setTimer">;
  log: Pick<Logger, "warn">;
}

/** How long a failed read of payloads waits before it is repeated. */
const PAYLOAD_RETRY_MS = 200;

/**
 * Sends durable assignments to their gateways: with their payloads, when they are due, and only if the machine still wants
 * them after each wait. The slot of an assignment that the machine has given up goes back to its gateway.
 */
export class Departures {
  readonly #parts: DeparturesParts;
  #stopped = false;

  constructor(parts: DeparturesParts) {
    this.#parts = parts;
  }

  /** Assignments that have just become durable. */
  async send(durable: readonly Assignment[]): Promise<void> {
    const { runtime, log } = this.#parts;
    for (let assigns = this.#wanted(durable); assigns.length > 0; assigns = this.#wanted(assigns)) {
      const reading = this.#parts.payloads.attach(assigns);
      if (reading === null) return this.#sendWhenDue(assigns);
      try {
        await reading;
        return this.#sendWhenDue(this.#wanted(assigns));
      } catch (error) {
        log.warn({ err: error }, "the scheduler could not read payloads and tries again");
        await new Promise<void>((resolve) => runtime.setTimer(PAYLOAD_RETRY_MS, resolve));
      }
    }
  }

  /** Assignments that were sent before and did not arrive. The gateway may have those that have ended since. */
  resend(assigns: readonly Assignment[]): void {
    void this.send(assigns.filter((assign) => isStillWanted(this.#parts.state, assign)));
  }

  /** Nothing is sent any more. */
  stop(): void {
    this.#stopped = true;
  }

  /** @param now at least the time for which the last wait was: a clock that is set back meanwhile makes nobody wait again */
  #sendWhenDue(assigns: readonly Assignment[], now: EpochMs = this.#parts.runtime.now()): void {
    const { runtime, state } = this.#parts;
    const early = assigns.filter((assign) => sendableAt(state, assign) > now);
    if (early.length === 0) return this.#post(assigns);
    this.#post(assigns.filter((assign) => sendableAt(state, assign) <= now));
    const nextAt = Math.min(...early.map((assign) => sendableAt(state, assign)));
    runtime.setTimer(nextAt - now, () => {
      this.#sendWhenDue(this.#wanted(early), Math.max(nextAt, runtime.now()));
    });
  }

  /** An execution that was given up while its assignment waited must not begin: the gateway lends the slot anew. */
  #wanted(assigns: readonly Assignment[]): readonly Assignment[] {
    if (this.#stopped) return [];
    const wanted: Assignment[] = [];
    for (const assign of assigns) {
      if (isStillWanted(this.#parts.state, assign)) wanted.push(assign);
      else this.#giveBack(assign);
    }
    return wanted;
  }

  #giveBack({ gateway: node, workerId, account, credit }: Assignment): void {
    this.#parts.bus.send({ node, role: "gateway" }, { kind: "VOID", workerId, account, credits: [credit] });
  }

  #post(assigns: readonly Assignment[]): void {
    for (const [node, group] of Map.groupBy(assigns, ({ gateway }) => gateway)) {
      this.#parts.bus.send({ node, role: "gateway" }, { kind: "ASSIGN", assigns: group });
    }
  }
}
