import { createHash } from "node:crypto";
import type { StoreEvent } from "@mainspring/server/testing";
import type { VirtualClock } from "@mainspring/testkit/time";

/** Part of a job's definition that is visible where the job runs. */
export interface SeenDefinition {
  /** Number of the text among its client's texts. */
  text: string;
  handler: string;
  maxAttempts: number;
}

/** A row of lifecycle events that a sink has, with the ids of its events. */
export interface TakenRow {
  shard: number;
  epoch: number;
  seq: number;
  ids: readonly string[];
}

/** An event that is visible from outside of the system: to clients, to workers, or in messages between processes. */
export type Observation =
  // ---- clients
  | { kind: "SUBMITTED"; key: string; handler: string }
  | { kind: "ACCEPTED"; key: string; executionId: string; deduplicated: boolean }
  /** The submit of a recurring job was accepted. */
  | { kind: "PLAN_ACCEPTED"; key: string; jobId: string }
  | { kind: "CANCEL_ASKED"; executionId: string }
  /** A client was told that its cancellation is kept beside the store, which does not answer. */
  | { kind: "CANCEL_KEPT"; executionId: string }
  /** A server has taken cancellations out of the index beside the store. */
  | { kind: "CANCELS_REMOVED"; executionIds: readonly string[] }
  /** The index beside the store has lost data. */
  | { kind: "INDEX_LOST"; what: "everything" | "the last writes" }
  | { kind: "CHANGE_ASKED"; jobId: string; change: string }
  | { kind: "REPLACE_ANSWERED"; jobId: string; executionId: string | null; version: number; execution: string }
  | { kind: "DELETE_ANSWERED"; jobId: string; isOver: boolean }
  | { kind: "RETRY_ANSWERED"; jobId: string; executionId: string }
  /** A client received the final answer to a command. */
  | { kind: "COMMAND_ANSWERED"; commandId: string; outcome: string }
  // ---- workers
  | { kind: "WORKER_BORN"; worker: string; slots: number; prefetch: number | "auto"; capabilities: readonly string[] }
  | {
      kind: "HANDLER_STARTED";
      executionId: string;
      attempt: number;
      worker: string;
      ran: Omit<SeenDefinition, "text">;
      asked: SeenDefinition;
      /** Values that the handler of a workflow's node got in place of references; left out: it has none. */
      got?: readonly unknown[];
    }
  | { kind: "HANDLER_ENDED"; executionId: string; attempt: number; worker: string; as: string }
  /** A handler ran the function of a step. */
  | { kind: "STEP_RAN"; executionId: string; attempt: number; worker: string; name: string }
  /** A handler has the value of a step, which is durable. */
  | { kind: "STEP_DURABLE"; executionId: string; attempt: number; worker: string; name: string; value: string }
  /** A handler has come to a step that sleeps, or waits for a signal, for so long. */
  | ({ kind: "WAIT_BEGUN"; worker: string; name: string; forMs: number; isSleep: boolean } & Ref)
  /** The step has ended. `signalId`: of the signal that ended it; null: its time is over. */
  | ({ kind: "WAIT_OVER"; worker: string; name: string; isSleep: boolean; signalId: string | null } & Ref)
  | { kind: "CHECKPOINTED"; executionId: string; attempt: number; worker: string; checkpoint: number }
  /** Checkpoint of earlier attempts that a handler found at its start. */
  | { kind: "CHECKPOINT_SEEN"; executionId: string; attempt: number; worker: string; last: number | null }
  // ---- between a worker and a gateway
  /** A hello arrived at a gateway; `server` is the process of the gateway. */
  | {
      kind: "GREETED";
      worker: string;
      server: string;
      connection: number;
      /** Number of the worker's connection, as the worker counts. */
      count: number;
      holds: readonly (Ref & { finished: boolean })[];
    }
  /** A connection has ended, whether or not either end has noticed. */
  | { kind: "PARTED"; worker: string; server: string; connection: number }
  /** A gateway sent an Assign. */
  | ({ kind: "ASSIGN_SENT"; worker: string; server: string } & Ref)
  /** An Assign reached the worker. */
  | ({ kind: "DELIVERED"; worker: string } & Ref)
  /** The worker sent a result. */
  | ({ kind: "REPORTED"; worker: string } & Ref)
  /** The worker was told to forget its result, or its attempt. */
  | ({ kind: "ACKED"; worker: string } & Ref)
  | ({ kind: "REFUSED"; worker: string } & Ref)
  // ---- between owners and gateways
  /** An owner sent an assignment; `owner` is its incarnation. */
  | ({ kind: "ASSIGN_LEFT"; owner: string } & Ref)
  /** An owner told a worker to stop an attempt. */
  | ({ kind: "STOP_LEFT"; owner: string } & Ref)
  /** An owner answered a command. */
  | { kind: "ANSWER_LEFT"; owner: string; commandId: string; outcome: string }
  /** Recorded only when it changed. */
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
  /** Recorded only when it changed. */
  | { kind: "LENT"; server: string; worker: string; owner: string; account: number; granted: number }
  | { kind: "DECLARED_LOST"; server: string; worker: string; reason: string }
  | { kind: "HINTED"; executionIds: readonly string[] }
  // ---- faults and operators
  | { kind: "OPERATED"; deed: string; forMs: number }
  /** An operator that requested a pause at `askedMs` was told that every owner applies it. */
  | { kind: "PAUSE_CONFIRMED"; pool: string; askedMs: number }
  /** An operator requested a version of the time zone data from a server. */
  | { kind: "TIME_ZONES_ASKED"; server: string; version: string }
  | { kind: "FAULT"; fault: string; on: string; forMs?: number }
  | { kind: "STORE_FAULT"; fault: string; operation: string }
  | { kind: "NETWORK_FAULT"; fault: string }
  | { kind: "CALM" }
  /** A sink has rows of events, perhaps not for the first time. */
  | { kind: "SINK_TOOK"; rows: readonly TakenRow[] }
  // ---- the log of requests
  | { kind: "LOG_APPENDED"; topic: string; partition: number; offset: number }
  | { kind: "LOG_RECREATED"; topic: string }
  /** A server has answered 202, with this id of the request. */
  | { kind: "LOG_ACCEPTED"; request: string }
  | { kind: "LOG_TOLD_REFUSED"; records: readonly { topic: string; partition: number; offset: number }[] }
  /** A receiver of webhooks has a request, perhaps not for the first time. `event`: id of the event. */
  | { kind: "RECEIVER_TOOK"; event: string }
  /**
   * A server has judged a key at the request of a program. `isGood`: the store called it good all the time; `isCutOff`: the server
   * waited in vain for what the store says.
   */
  | {
      kind: "KEY_JUDGED";
      server: string;
      key: string;
      said: string;
      isGood: boolean;
      isCutOff: boolean;
      askedAtMs: number;
    }
  /** A server logged an error, which means a state that its authors consider impossible. */
  | { kind: "ERROR_LOGGED"; server: string; message: string };

/** Token of an attempt. */
export interface Ref {
  executionId: string;
  attempt: number;
}

export type SimEvent = Observation & { atMs: number };

/** A change of the store, with `atMs` in simulated milliseconds, as in events. */
export interface Written {
  kind: "WRITTEN";
  atMs: number;
  event: StoreEvent;
}

/** Receives everything as it happens. */
export interface Observer {
  saw?(event: StoreEvent): void;
  noticed?(event: SimEvent): void;
}

/** Number of characters that are hashed at once, because hashing each line alone would cost more than creating it. */
const HASH_CHARS = 65_536;

/** Observed events and changes in order. The list only grows. The trace is a hash of all of it. */
export class History {
  readonly entries: (SimEvent | Written)[] = [];
  readonly #clock: VirtualClock;
  readonly #observer: Observer;
  readonly #hash = createHash("sha256");
  #unhashed = "";

  constructor(clock: VirtualClock, observer: Observer = {}) {
    this.#clock = clock;
    this.#observer = observer;
  }

  add(seen: Observation): void {
    const event = { ...seen, atMs: this.#clock.nowMs };
    this.entries.push(event);
    this.#trace(JSON.stringify(seen, seen.kind === "STORE_FAULT" ? withoutStacks : undefined));
    this.#observer.noticed?.(event);
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

  of<K extends Observation["kind"]>(kind: K): Extract<SimEvent, { kind: K }>[] {
    return this.entries.filter((entry): entry is Extract<SimEvent, { kind: K }> => entry.kind === kind);
  }

  traceHash(): string {
    return this.#hash.copy().update(this.#unhashed).digest("hex");
  }
}

/** Leaves out stack traces, which depend on the program around the simulation, too. */
function withoutStacks(key: string, value: unknown): unknown {
  return key === "stack" ? undefined : value;
}
