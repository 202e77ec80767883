import { createHash } from "node:crypto";
import type { VirtualClock } from "./virtual-clock.ts";

/** What can be seen of a job's definition where it runs. */
export interface SeenDefinition {
  /** Which of its client's texts it is. */
  text: string;
  handler: string;
  maxAttempts: number;
}

/** Something that was seen from outside of the system. */
export type Seen =
  | { kind: "SUBMITTED"; key: string; handler: string }
  | { kind: "ACCEPTED"; key: string; executionId: string; deduplicated: boolean }
  | { kind: "CANCEL_ASKED"; executionId: string }
  | { kind: "CHANGE_ASKED"; jobId: string; change: string }
  | { kind: "REPLACE_ANSWERED"; jobId: string; executionId: string | null; version: number; execution: string }
  | { kind: "DELETE_ANSWERED"; jobId: string; isOver: boolean }
  | { kind: "RETRY_ANSWERED"; jobId: string; executionId: string }
  | {
      kind: "HANDLER_STARTED";
      executionId: string;
      attempt: number;
      worker: string;
      ran: Omit<SeenDefinition, "text">;
      asked: SeenDefinition;
    }
  | { kind: "HANDLER_ENDED"; executionId: string; attempt: number; worker: string; as: string }
  | { kind: "WORKER_HOLDS"; worker: string; count: number; bound: number }
  | { kind: "OPERATED"; deed: string }
  | { kind: "FAULT"; fault: string; on: string };

export type Moment = Seen & { atMs: number };

/** What was seen, in order; only ever added to. The trace is all of it, and what the store was told, as one hash. */
export class History {
  readonly moments: Moment[] = [];
  readonly #clock: VirtualClock;
  readonly #hash = createHash("sha256");

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  add(seen: Seen): void {
    this.moments.push({ ...seen, atMs: this.#clock.nowMs });
    this.trace(seen);
  }

  /** Belongs to the trace, but not to what checkers look at. */
  trace(what: unknown): void {
    this.#hash.update(`${this.#clock.nowMs} ${JSON.stringify(what, withoutStacks)}\n`);
  }

  of<K extends Seen["kind"]>(kind: K): Extract<Moment, { kind: K }>[] {
    return this.moments.filter((moment): moment is Extract<Moment, { kind: K }> => moment.kind === kind);
  }

  traceHash(): string {
    return this.#hash.copy().digest("hex");
  }
}

/** Stacks tell of the program around the simulation too. */
function withoutStacks(key: string, value: unknown): unknown {
  return key === "stack" ? undefined : value;
}
