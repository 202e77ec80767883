import type { EventRow } from "../../ports/store-events.ts";
import { eventLines } from "./cloud-event.ts";

/** Largest number of events that a node keeps in memory for its followers. Each takes up to about 2 KiB. */
const LOG_EVENTS_MAX = 16_384;

/** A row in the memory of a node. */
export class LoggedRow {
  readonly row: EventRow;
  /** Position of the node after the row, as text. */
  readonly token: string;
  /** Lines of the events, as far as a follower has needed them. */
  readonly #lines: string[] = [];

  constructor(row: EventRow, token: string) {
    this.row = row;
    this.token = token;
  }

  /** Lines of an event of the row for all followers that want it. @param index index in the row's `events` */
  lines(index: number): string {
    const event = this.row.events[index];
    return event === undefined ? "" : (this.#lines[index] ??= eventLines(event));
  }
}

/** The newest rows that a node has read, each with a number that grows by one. */
export class EventLog {
  readonly #eventsMax: number;
  #rows: LoggedRow[] = [];
  #first = 0;
  #events = 0;

  constructor(eventsMax = LOG_EVENTS_MAX) {
    this.#eventsMax = eventsMax;
  }

  /** Number of the next row. */
  get end(): number {
    return this.#first + this.#rows.length;
  }

  /** Adds rows, and drops the oldest ones while there are too many events. The newest row always stays. */
  add(rows: readonly LoggedRow[]): void {
    for (const logged of rows) {
      this.#rows.push(logged);
      this.#events += logged.row.events.length;
    }
    let dropped = 0;
    while (this.#events > this.#eventsMax && dropped < this.#rows.length - 1)
      this.#events -= this.#rows[dropped++]?.row.events.length ?? 0;
    this.#rows.splice(0, dropped);
    this.#first += dropped;
  }

  /** Drops all rows, and skips a number so that no follower goes on without a look at the store. */
  clear(): void {
    this.#first = this.end + 1;
    this.#rows = [];
    this.#events = 0;
  }

  /** The row with this number; undefined: none yet. null: it was dropped. */
  at(number: number): LoggedRow | undefined | null {
    return number < this.#first ? null : this.#rows[number - this.#first];
  }
}
