import { createHash } from "node:crypto";
import type { StoreEvent } from "./store/history.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** Part of a job's definition that can be seen where it runs. */
export interface SeenDefinition {
  /** Which of its client's texts it is. */
  text: string;
  handler: string;
  maxAttempts: number;
}

/** Something that was seen from outside of the system: by clients, by workers, on the wires between processes. */
export type Seen =
  // ---- clients
  | { kind: "SUBMITTED"; key: string; handler: string }
  | { kind: "ACCEPTED"; key: string; executionId: string; deduplicated: boolean }
  /** A recurring job. */
  | { kind: "PLAN_ACCEPTED"; key: string; jobId: string }
  | { kind: "CANCEL_ASKED"; executionId: string }
  | { kind: "CHANGE_ASKED"; jobId: string; change: string }
  | { kind: "REPLACE_ANSWERED"; jobId: string; executionId: string | null; version: number; execution: string }
  | { kind: "DELETE_ANSWERED"; jobId: string; isOver: boolean }
  | { kind: "RETRY_ANSWERED"; jobId: string; executionId: string }
  /** The final answer to a client's command. */
  | { kind: "COMMAND_ANSWERED"; commandId: string; outcome: string }
  // ---- workers
  | { kind: "WORKER_BORN"; worker: string; slots: number; prefetch: number; capabilities: readonly string[] }
  | {
      kind: "HANDLER_STARTED";
      executionId: string;
      attempt: number;
      worker: string;
      ran: Omit<SeenDefinition, "text">;
      asked: SeenDefinition;
    }
  | { kind: "HANDLER_ENDED"; executionId: string; attempt: number; worker: string; as: string }
  // ---- between a worker and a gateway
  /** Its hello arrived; `server` is the process of the gateway. */
  | {
      kind: "GREETED";
      worker: string;
      server: string;
      connection: number;
      /** The how-manieth of the worker it is, as the worker says. */
      count: number;
      holds: readonly (Ref & { finished: boolean })[];
    }
  /** The connection is no more, whether somebody has noticed or not. */
  | { kind: "PARTED"; worker: string; server: string; connection: number }
  /** A gateway gave the Assign to the connection. */
  | ({ kind: "ASSIGN_SENT"; worker: string; server: string } & Ref)
  /** The Assign reached the worker. */
  | ({ kind: "DELIVERED"; worker: string } & Ref)
  /** The worker sends a result. */
  | ({ kind: "REPORTED"; worker: string } & Ref)
  /** Told to forget its result, or its attempt. */
  | ({ kind: "ACKED"; worker: string } & Ref)
  | ({ kind: "REFUSED"; worker: string } & Ref)
  // ---- between owners and gateways
  /** An owner sends an assignment; `owner` is its incarnation. */
  | ({ kind: "ASSIGN_LEFT"; owner: string } & Ref)
  /** An owner has a worker told to stop an attempt. */
  | ({ kind: "STOP_LEFT"; owner: string } & Ref)
  /** An owner says what has become of a command. */
  | { kind: "ANSWER_LEFT"; owner: string; commandId: string; outcome: string }
  /** Said anew only when it changed. */
  | {
      kind: "OWNER_ARRIVED";
      server: string;
      owner: string;
      term: number;
      life: number;
      shards: readonly { shard: number; epoch: number }[];
    }
  | { kind: "VOID_ARRIVED"; server: string; worker: string; owner: string; account: number; credits: readonly number[] }
  | ({ kind: "ASSIGN_ARRIVED"; server: string; worker: string; owner: string; account: number; credit: number } & Ref)
  /** Said anew only when it changed. */
  | { kind: "LENT"; server: string; worker: string; owner: string; account: number; granted: number }
  | { kind: "DECLARED_LOST"; server: string; worker: string; reason: string }
  | { kind: "HINTED"; executionIds: readonly string[] }
  // ---- what is done to them
  | { kind: "OPERATED"; deed: string; forMs: number }
  /** An operator who had asked for a pause at `askedMs` was told that every owner goes by it. */
  | { kind: "PAUSE_CONFIRMED"; pool: string; askedMs: number }
  /** An operator asks a server to bring a version of the time zone data into force. */
  | { kind: "TIME_ZONES_ASKED"; server: string; version: string }
  | { kind: "FAULT"; fault: string; on: string; forMs?: number }
  | { kind: "STORE_FAULT"; fault: string; operation: string }
  | { kind: "NETWORK_FAULT"; fault: string }
  | { kind: "CALM" }
  /** A server logged an error: something that its authors hold to be impossible. */
  | { kind: "ERROR_LOGGED"; server: string; message: string };

/** The token of an attempt. */
export interface Ref {
  executionId: string;
  attempt: number;
}

export type Moment = Seen & { atMs: number };

/** A change of the store; `atMs` as for moments. */
export interface Written {
  kind: "WRITTEN";
  atMs: number;
  event: StoreEvent;
}

/** Told of everything as it happens. */
export interface Observer {
  saw?(event: StoreEvent): void;
  noticed?(moment: Moment): void;
}

/** Line by line the hash would cost more than what it is taken of. */
const HASH_CHARS = 65_536;

/** Observed moments and changes in order; only ever added to. The trace is all of it, as one hash. */
export class History {
  readonly entries: (Moment | Written)[] = [];
  readonly #clock: VirtualClock;
  readonly #observer: Observer;
  readonly #hash = createHash("sha256");
  #unhashed = "";

  constructor(clock: VirtualClock, observer: Observer = {}) {
    this.#clock = clock;
    this.#observer = observer;
  }

  add(seen: Seen): void {
    const moment = { ...seen, atMs: this.#clock.nowMs };
    this.entries.push(moment);
    this.#trace(JSON.stringify(seen));
    this.#observer.noticed?.(moment);
  }

  wrote(event: StoreEvent): void {
    this.entries.push({ kind: "WRITTEN", atMs: this.#clock.nowMs, event });
    this.#trace(JSON.stringify([event.kind, event.kind === "COMMITTED" ? event.asked : null], withoutStacks));
    this.#observer.saw?.(event);
  }

  #trace(what: string): void {
    this.#unhashed += `${this.#clock.nowMs} ${what}\n`;
    if (this.#unhashed.length < HASH_CHARS) return;
    this.#hash.update(this.#unhashed);
    this.#unhashed = "";
  }

  of<K extends Seen["kind"]>(kind: K): Extract<Moment, { kind: K }>[] {
    return this.entries.filter((entry): entry is Extract<Moment, { kind: K }> => entry.kind === kind);
  }

  traceHash(): string {
    return this.#hash.copy().update(this.#unhashed).digest("hex");
  }
}

/** Stacks tell of the program around the simulation too. */
function withoutStacks(key: string, value: unknown): unknown {
  return key === "stack" ? undefined : value;
}
