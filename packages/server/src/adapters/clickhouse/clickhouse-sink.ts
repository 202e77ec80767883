import type { ClickHouseAddress } from "../../ports/clickhouse-address.ts";
import { type EventSink, SinkUnavailable } from "../../ports/event-sink.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { EventRow } from "../../ports/store-events.ts";
import { Connection } from "./connection.ts";
import { EVENT_COLUMNS, groupsOf, linesOf, tokenOf } from "./event-lines.ts";
import { requireTables } from "./migrations.ts";

/** Shortest time between the starts of two inserts, in milliseconds. Each insert makes a part that ClickHouse has to merge. */
const INSERT_EVERY_MS = 1_000;
/**
 * Number of events that are inserted without a wait. A relay has one delivery of some thousands of events in flight, so a wait would
 * bound its rate.
 */
const INSERT_AT_ONCE = 2_000;
/** Largest number of events of one insert. */
const INSERT_EVENTS_MAX = 20_000;

/** A call of `deliver` whose rows are not inserted yet. */
interface Delivery {
  rows: readonly EventRow[];
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Sink that inserts lifecycle events into the table `events` of ClickHouse. Small deliveries that arrive while an insert runs, or within
 * a second of its start, share the next insert. The sink keeps the caller's rows, and the text of a few hundred events at a time.
 */
export class ClickHouseSink implements EventSink {
  readonly name = "clickhouse";
  readonly #address: ClickHouseAddress;
  readonly #runtime: Pick<Runtime, "monotonicMs" | "setTimer">;
  readonly #eventsMax: number;
  #connection: Connection | null = null;
  #waiting: Delivery[] = [];
  /** Number of events of all waiting deliveries. */
  #events = 0;
  #timer: Timer | null = null;
  #isInserting = false;
  #nextMs = 0;

  /** @param eventsMax number of events of the largest insert */
  constructor(
    address: ClickHouseAddress,
    runtime: Pick<Runtime, "monotonicMs" | "setTimer">,
    eventsMax = INSERT_EVENTS_MAX,
  ) {
    this.#address = address;
    this.#runtime = runtime;
    this.#eventsMax = eventsMax;
  }

  async open(): Promise<void> {
    await this.#connection?.close();
    const connection = new Connection(this.#address);
    this.#connection = connection;
    await connection.requireVersion();
    await requireTables(connection);
    // An insert of no row needs the same right as one of many.
    await connection.command("INSERT INTO events (id) SELECT '' WHERE 0");
  }

  deliver(rows: readonly EventRow[]): Promise<void> {
    if (this.#connection === null) return Promise.reject(new SinkUnavailable("the sink clickhouse is not open"));
    const events = countOf(rows);
    if (events === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rows, resolve, reject });
      this.#events += events;
      this.#schedule();
    });
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const [waiting, connection] = [this.#waiting, this.#connection];
    this.#waiting = [];
    this.#events = 0;
    this.#connection = null;
    for (const { reject } of waiting) reject(new SinkUnavailable("the sink clickhouse is closed"));
    await connection?.close();
  }

  #schedule(): void {
    if (this.#isInserting || this.#waiting.length === 0) return;
    const isFull = this.#events >= Math.min(INSERT_AT_ONCE, this.#eventsMax);
    this.#timer?.cancel();
    this.#timer = null;
    const waitMs = isFull ? 0 : this.#nextMs - this.#runtime.monotonicMs();
    if (waitMs <= 0) void this.#insert();
    else this.#timer = this.#runtime.setTimer(waitMs, () => void this.#insert());
  }

  /** Inserts the rows of all waiting deliveries, and answers these. */
  async #insert(): Promise<void> {
    const [deliveries, connection] = [this.#waiting, this.#connection];
    if (connection === null) return;
    this.#waiting = [];
    this.#events = 0;
    this.#isInserting = true;
    this.#nextMs = this.#runtime.monotonicMs() + INSERT_EVERY_MS;
    try {
      const rows = deliveries.flatMap((delivery) => delivery.rows);
      for (const group of groupsOf(rows, this.#eventsMax)) {
        await connection.insert("events", EVENT_COLUMNS, linesOf(group), tokenOf(group));
      }
      for (const { resolve } of deliveries) resolve();
    } catch (cause) {
      for (const { reject } of deliveries) reject(cause);
    } finally {
      this.#isInserting = false;
      this.#schedule();
    }
  }
}

function countOf(rows: readonly EventRow[]): number {
  return rows.reduce((sum, { events }) => sum + events.length, 0);
}
