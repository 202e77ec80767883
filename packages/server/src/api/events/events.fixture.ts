import { pino } from "pino";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import type { ShardId } from "../../domain/ids.ts";
import type { LifecycleEvent } from "../../domain/lifecycle-event.ts";
import {
  BEFORE_ALL,
  type EventPosition,
  type EventRef,
  type EventRow,
  isBefore,
  type StoreEvents,
} from "../../ports/store-events.ts";
import { Turns } from "../../ports/turns.ts";
import { settingsAuthenticator } from "../../security/key-authenticator.ts";
import { countingMetrics } from "../api.fixture.ts";
import { StreamSeats } from "../executions/stream-seats.ts";
import { createHttpApp } from "../http/http-app.ts";
import { EventFeed } from "./event-feed.ts";
import { lifecycleEventsRoute } from "./lifecycle-events-route.ts";

export const AT = Date.UTC(2030, 0, 31, 9, 30);

/** An event with an id of its own. @param number 0 to 9,999 */
export function eventOf(number: number, fields: Partial<LifecycleEvent> = {}): LifecycleEvent {
  return {
    ...{ kind: "JobCompleted", at: AT, executionId: idOf(number), jobId: idOf(number, "b") },
    ...{ workflowId: null, node: null, item: null, tenant: "default", pool: "default", handler: "echo" },
    ...{ trigger: null, attempt: 1, workerId: "w1", state: "SUCCEEDED", reason: null, scheduledAt: AT - 9 },
    ...{ createdAt: null, startedAt: AT - 7, finishedAt: AT, failures: 0, lost: 0, errorName: null, step: null },
    ...{ session: null, traceparent: null },
    jobVersion: 1,
    ...fields,
  };
}

export function idOf(number: number, digit = "a"): string {
  return `019a0000-0000-7000-8000-${digit}${String(number).padStart(11, "0")}`;
}

/** Kept events in memory. */
export class MemoryEvents implements StoreEvents {
  /** Number of reads of rows. */
  reads = 0;
  /** Largest number of rows of a read, whatever its limit is. */
  pageRows = 1_000;
  /** Whether reads return the rows of the highest shard first. */
  isDescending = false;
  /** Error of every call; null: none. */
  outage: Error | null = null;
  readonly #rows: EventRow[] = [];
  readonly #last = new Map<ShardId, EventRef>();
  readonly #removed = new Map<ShardId, EventRef>();

  write(row: EventRow): void {
    this.#rows.push(row);
    this.#last.set(row.shard, { epoch: row.epoch, seq: row.seq });
  }

  async leave(): Promise<void> {
    throw new Error("these events have no inbox");
  }

  /** Removes all rows. */
  removeAll(): void {
    for (const row of this.#rows.splice(0)) this.#removed.set(row.shard, { epoch: row.epoch, seq: row.seq });
  }

  async read(after: EventPosition, limit: number): Promise<EventRow[] | null> {
    if (this.outage !== null) throw this.outage;
    this.reads++;
    for (const [shard, removed] of this.#removed) if (isBefore(after.get(shard) ?? BEFORE_ALL, removed)) return null;
    const rows = this.#rows.filter((row) => isBefore(after.get(row.shard) ?? BEFORE_ALL, row));
    if (this.isDescending) rows.sort((a, b) => b.shard - a.shard);
    return rows.slice(0, Math.min(limit, this.pageRows));
  }

  async newest(): Promise<EventPosition> {
    return new Map(this.#last);
  }

  async oldest(): Promise<EventPosition> {
    return new Map(this.#removed);
  }

  async readInbox(): Promise<never[]> {
    return [];
  }
}

/** A server with the route of events alone. */
export async function startEvents(logEventsMax?: number) {
  const runtime = systemRuntime();
  const log = pino({ level: "silent" });
  const events = new MemoryEvents();
  const turns = new Turns(runtime);
  const feed = new EventFeed({ events, runtime, log, turns, ...(logEventsMax !== undefined && { logEventsMax }) });
  const app = createHttpApp({
    authenticator: settingsAuthenticator({ apiKey: null }, runtime),
    metrics: countingMetrics([]),
    log,
    runtime,
  });
  lifecycleEventsRoute(app, { feed, runtime, turns, seats: new StreamSeats() });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  return { app, events, feed, url: `${url}/v1/events`, stop: () => app.close() };
}
