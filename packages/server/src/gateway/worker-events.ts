import type { Logger } from "pino";
import { DEFAULT_TENANT, type EpochMs, type ShardId, shardOf } from "../domain/ids.ts";
import { type LifecycleEvent, NO_EVENT_FIELDS } from "../domain/lifecycle-event.ts";
import { ownerOfPool } from "../domain/pool.ts";
import type { WorkerProfile } from "../ports/messages.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { StoreEvents } from "../ports/store-events.ts";
import type { InboxEvents } from "../ports/told-events.ts";

/** Reason of a WorkerDead. */
export type SessionEnd =
  /** The worker has said goodbye. */
  | "LEFT"
  /** The connection broke, and the worker did not come back to this gateway in time. */
  | "CONNECTION_LOST"
  /** The worker was connected, and silent for too long. */
  | "SILENT"
  /** Another process uses the worker's id. */
  | "REPLACED"
  /** The gateway sent the worker to another one while it drained. */
  | "SENT_AWAY"
  /** The gateway's server stopped. */
  | "SERVER_STOPPED";

/** Time for which an event waits for others of the same write, and time between two tries, in milliseconds. */
const WRITE_EVERY_MS = 1_000;
/** Number of events that wait while the store does not answer. Later ones are dropped. */
const WAITING_MAX = 10_000;

/** The events of a node's gateway; none if the node writes no events. They stop after the gateway. */
export function workerEventsOf(
  { config, life, runtime, log, telling }: NodeParts,
  { events }: { readonly events: StoreEvents },
): { workerEvents?: WorkerEvents } {
  if (config.events.length === 0) return {};
  const workerEvents = new WorkerEvents({ events, runtime, log, isOn: telling.isOn });
  life.started("events of workers", () => workerEvents.stop());
  return { workerEvents };
}

interface NodeParts extends Pick<WorkerEventsDependencies, "runtime" | "log"> {
  config: { readonly events: readonly string[] };
  life: { started(what: string, stop: () => Promise<void>): void };
  telling: { readonly isOn: () => boolean };
}

export interface WorkerEventsDependencies {
  events: Pick<StoreEvents, "leave">;
  runtime: Runtime;
  log: Logger;
  /** Whether the node writes lifecycle events now. */
  isOn: () => boolean;
}

/**
 * Events of the sessions of workers with this gateway. No commit of a shard stands behind them: the gateway leaves them in the
 * inbox of a shard that the worker's id chooses, once a second, and they are lost with its process or while the store is
 * away for long.
 */
export class WorkerEvents {
  readonly #deps: WorkerEventsDependencies;
  #waiting: LifecycleEvent[] = [];
  /** Members that the store may have already. They are written again under the same ids. */
  #unsure: readonly InboxEvents[] = [];
  #timer: Timer | null = null;
  #dropped = 0;

  constructor(deps: WorkerEventsDependencies) {
    this.#deps = deps;
  }

  /** A worker has opened a session. @returns id of the session; null: the node writes no events, so none has its end */
  registered(profile: WorkerProfile): string | null {
    const { isOn, runtime } = this.#deps;
    if (!isOn()) return null;
    const session = runtime.uuid();
    this.#add({ ...eventOf(profile, session, runtime.now()), kind: "WorkerRegistered" });
    return session;
  }

  /** A session has ended. @param session id that `registered` gave */
  dead(profile: WorkerProfile, session: string, reason: SessionEnd): void {
    this.#add({ ...eventOf(profile, session, this.#deps.runtime.now()), kind: "WorkerDead", reason });
  }

  /** Writes the events that wait, and gives up those that the store does not take. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#write();
    this.#timer?.cancel();
  }

  #add(event: LifecycleEvent): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(event);
    else this.#dropped++;
    this.#timer ??= this.#deps.runtime.setTimer(WRITE_EVERY_MS, () => void this.#write());
  }

  async #write(): Promise<void> {
    const { events, runtime, log } = this.#deps;
    if (this.#unsure.length === 0) {
      this.#unsure = membersOf(this.#waiting, () => runtime.uuid());
      this.#waiting = [];
    }
    try {
      if (this.#unsure.length > 0) await events.leave(this.#unsure);
      this.#unsure = [];
      if (this.#dropped > 0) log.warn({ dropped: this.#dropped }, "the gateway dropped events of workers");
      this.#dropped = 0;
    } catch (error) {
      log.warn({ err: error }, "the gateway cannot write events of workers, and tries again");
    }
    const isDone = this.#unsure.length + this.#waiting.length === 0;
    this.#timer = isDone ? null : runtime.setTimer(WRITE_EVERY_MS, () => void this.#write());
  }
}

/** A member for each shard, in which the events keep their order. */
function membersOf(events: readonly LifecycleEvent[], newId: () => string): InboxEvents[] {
  const byShard = new Map<ShardId, LifecycleEvent[]>();
  for (const event of events) {
    const shard = shardOf(event.workerId ?? "");
    byShard.set(shard, [...(byShard.get(shard) ?? []), event]);
  }
  return Array.from(byShard, ([shard, own]) => ({ id: newId(), shard, events: own }));
}

function eventOf({ workerId, pool }: WorkerProfile, session: string, at: EpochMs): Omit<LifecycleEvent, "kind"> {
  return {
    ...NO_EVENT_FIELDS,
    at,
    workerId,
    session,
    tenant: ownerOfPool(pool) ?? DEFAULT_TENANT,
    pool,
    handler: "",
    jobVersion: 0,
  };
}
