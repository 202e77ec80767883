import type { Logger } from "pino";
import type { EpochMs, ExecutionId, Incarnation } from "../domain/ids.ts";
import type { Unsendable } from "../engine/inputs.ts";
import { isStillWanted, sendableAt } from "../engine/queue/sendable.ts";
import type { MachineState } from "../engine/state.ts";
import type { Bus } from "../ports/bus.ts";
import type { Assignment } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Held, Payloads } from "./reading/payloads.ts";

interface OutboundDependencies {
  state: Pick<MachineState, "entries">;
  bus: Pick<Bus, "send">;
  payloads: Pick<Payloads, "attach">;
  /** Tells the machine of attempts that cannot be sent. */
  give(unsendable: readonly Unsendable[]): void;
  runtime: Pick<Runtime, "now" | "setTimer">;
  log: Pick<Logger, "warn">;
}

/** Time in ms after which a failed read of payloads is repeated. */
const PAYLOAD_RETRY_MS = 200;

/**
 * Sends durable assignments to their gateways with their payloads, when they are due. After each wait it checks whether
 * the machine still wants them, and returns the credit of those that the machine has given up.
 */
export class OutboundAssignments {
  readonly #deps: OutboundDependencies;
  #stopped = false;

  constructor(deps: OutboundDependencies) {
    this.#deps = deps;
  }

  /** Sends assignments that have just become durable. */
  async send(durable: readonly Assignment[]): Promise<void> {
    const { runtime, log } = this.#deps;
    for (let assigns = this.#wanted(durable); assigns.length > 0; assigns = this.#wanted(assigns)) {
      const reading = this.#deps.payloads.attach(assigns, {
        sentAt: (assign) => this.#sentAt(assign),
        nodeOf: (assign) => this.#nodeOf(assign),
      });
      if (reading === null) return this.#sendWhenDue(assigns);
      try {
        const held = await reading;
        return this.#sendWhenDue(this.#wanted(held.length === 0 ? assigns : this.#without(assigns, held)));
      } catch (error) {
        log.warn({ err: error }, "the scheduler could not read payloads and tries again");
        await new Promise<void>((resolve) => runtime.setTimer(PAYLOAD_RETRY_MS, resolve));
      }
    }
  }

  /**
   * Repeats assignments that did not arrive, as their gateway reported. Attempts that have ended since are left out
   * without returning their credit, because a repeat may have reached the gateway meanwhile.
   */
  resend(assigns: readonly Assignment[]): void {
    void this.send(assigns.filter((assign) => isStillWanted(this.#deps.state, assign)));
  }

  /** Stops all sending. */
  stop(): void {
    this.#stopped = true;
  }

  #sentAt(assign: Assignment): EpochMs {
    const { runtime, state } = this.#deps;
    return Math.max(sendableAt(state, assign), runtime.now());
  }

  #nodeOf({ executionId }: Assignment): { run: ExecutionId; item: number | null } | null {
    const row = this.#deps.state.entries.get(executionId)?.row;
    return row?.node === undefined ? null : { run: row.jobId, item: row.item ?? null };
  }

  /** Leaves out assignments that cannot be sent, and ends their attempts. */
  #without(assigns: readonly Assignment[], held: readonly Held<Assignment>[]): readonly Assignment[] {
    if (!this.#stopped) {
      this.#deps.give(held.map(({ assign, reason, error }) => ({ ...tokenOf(assign), reason, error })));
      for (const { assign } of held) this.#giveBack(assign);
    }
    const unsendable = new Set(held.map(({ assign }) => assign));
    return assigns.filter((assign) => !unsendable.has(assign));
  }

  /** @param now at least the time that the last wait was for, so that a clock that is set back causes no second wait */
  #sendWhenDue(assigns: readonly Assignment[], now: EpochMs = this.#deps.runtime.now()): void {
    const { runtime, state } = this.#deps;
    const early = assigns.filter((assign) => sendableAt(state, assign) > now);
    if (early.length === 0) return this.#post(assigns);
    this.#post(assigns.filter((assign) => sendableAt(state, assign) <= now));
    const nextAt = Math.min(...early.map((assign) => sendableAt(state, assign)));
    runtime.setTimer(nextAt - now, () => {
      this.#sendWhenDue(this.#wanted(early), Math.max(nextAt, runtime.now()));
    });
  }

  /**
   * Filters out assignments whose execution was given up during the wait, which must not start. The gateway allocates
   * their slots again.
   */
  #wanted(assigns: readonly Assignment[]): readonly Assignment[] {
    if (this.#stopped) return [];
    const wanted: Assignment[] = [];
    for (const assign of assigns) {
      if (isStillWanted(this.#deps.state, assign)) wanted.push(assign);
      else this.#giveBack(assign);
    }
    return wanted;
  }

  #giveBack({ gateway: node, workerId, account, credit }: Assignment): void {
    this.#deps.bus.send({ node, role: "gateway" }, { kind: "VOID", workerId, account, credits: [credit] });
  }

  #post(assigns: readonly Assignment[]): void {
    const byGateway = new Map<Incarnation, Assignment[]>();
    for (const assign of assigns) {
      const group = byGateway.get(assign.gateway);
      if (group === undefined) byGateway.set(assign.gateway, [assign]);
      else group.push(assign);
    }
    for (const [node, group] of byGateway) {
      this.#deps.bus.send({ node, role: "gateway" }, { kind: "ASSIGN", assigns: group });
    }
  }
}

function tokenOf({ shard, executionId, attempt, workerId }: Assignment): Omit<Unsendable, "reason" | "error"> {
  return { shard, executionId, attempt, workerId };
}
