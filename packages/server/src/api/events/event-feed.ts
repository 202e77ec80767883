import type { Logger } from "pino";
import type { ShardId } from "../../domain/ids.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { EventPosition, EventRef, EventRow, StoreEvents } from "../../ports/store-events.ts";
import type { Turns } from "../../ports/turns.ts";
import { EventLog, LoggedRow } from "./event-log.ts";
import { encodePosition } from "./position-token.ts";

/** Interval of the reads while there are followers, no rows and no hints, in milliseconds. */
const READ_EVERY_MS = 500;
/** Interval of the reads while there are rows or hints, in milliseconds. */
const READ_AGAIN_MS = 50;
/** Largest number of rows of one read. */
export const PAGE_ROWS = 2_000;

export interface EventFeedDependencies {
  events: StoreEvents;
  runtime: Runtime;
  log: Logger;
  turns: Turns;
  /** Largest number of events in memory; default: 16,384. */
  logEventsMax?: number;
}

/**
 * Reads the events of all shards once for all followers of a node. The feed reads only while there are followers: soon
 * after a hint, and at regular intervals because hints may be lost.
 */
export class EventFeed {
  readonly log: EventLog;
  readonly events: StoreEvents;
  readonly #deps: EventFeedDependencies;
  /** Last row of each shard in the log or before it; null: there are no followers, or nothing was read for them yet. */
  #position: Map<ShardId, EventRef> | null = null;
  #followers = 0;
  #timer: Timer | null = null;
  /** Time of the next read on the monotonic clock, while a timer is set. */
  #dueMs = 0;
  #readMs = Number.NEGATIVE_INFINITY;
  #isReading = false;
  #isHinted = false;
  #isFailing = false;
  #isClosed = false;
  readonly #waiting = new Set<() => void>();

  constructor(deps: EventFeedDependencies) {
    this.#deps = deps;
    this.events = deps.events;
    this.log = new EventLog(deps.logEventsMax);
  }

  /** Position behind the last row of the log; null: the feed has not read anything yet. */
  get position(): EventPosition | null {
    return this.#position;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Adds a follower, so that the feed reads. @returns function that removes it */
  enter(): () => void {
    if (++this.#followers === 1) void this.#read();
    let isInside = true;
    return () => {
      if (isInside && --this.#followers === 0) this.#rest();
      isInside = false;
    };
  }

  /** An owner has written events. */
  hint(): void {
    if (this.#followers === 0 || this.#isClosed) return;
    if (this.#isReading) this.#isHinted = true;
    else this.#schedule(READ_AGAIN_MS);
  }

  /** Resolves when the log or its position has changed and may have a row with this number, the feed is closed, or the signal is aborted. */
  has(number: number, signal: AbortSignal): Promise<void> {
    if (this.log.end > number || this.#isClosed || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        this.#waiting.delete(done);
        resolve();
      };
      signal.addEventListener("abort", done);
      this.#waiting.add(done);
    });
  }

  /** Ends all streams. */
  close(): void {
    this.#isClosed = true;
    this.#rest();
    this.#wake();
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#position = null;
    this.log.clear();
  }

  /** @param afterMs time since the begin of the last read after which the next one begins, in milliseconds */
  #schedule(afterMs: number): void {
    if (this.#followers === 0 || this.#isClosed) return;
    const { runtime } = this.#deps;
    const nowMs = runtime.monotonicMs();
    const dueMs = Math.max(nowMs, this.#readMs + afterMs);
    if (this.#timer !== null && this.#dueMs <= dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = runtime.setTimer(dueMs - nowMs, () => {
      this.#timer = null;
      void this.#read();
    });
  }

  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#isHinted = false;
    this.#readMs = this.#deps.runtime.monotonicMs();
    let isEmpty = true;
    try {
      isEmpty = await this.#readPage();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#deps.log.warn({ err: error }, "the api cannot read events, and tries again");
      this.#isFailing = true;
    }
    this.#isReading = false;
    this.#schedule(isEmpty && !this.#isHinted ? READ_EVERY_MS : READ_AGAIN_MS);
  }

  /** @returns whether there were no rows; a page of some rows need not have all that there are */
  async #readPage(): Promise<boolean> {
    const { events } = this;
    const position = this.#position ?? new Map(await events.newest());
    const rows = await events.read(position, PAGE_ROWS);
    if (rows === null) {
      this.#deps.log.warn("the api was too slow for the events that are kept, and goes on with the newest ones");
      this.log.clear();
      this.#position = new Map(await events.newest());
      this.#wake();
      return true;
    }
    await this.#add(rows, position);
    return rows.length === 0;
  }

  async #add(rows: readonly EventRow[], from: EventPosition): Promise<void> {
    const position = new Map(from);
    const logged = await this.#deps.turns.map(rows, (row) => {
      position.set(row.shard, { epoch: row.epoch, seq: row.seq });
      return new LoggedRow(row, encodePosition(position));
    });
    if (this.#followers === 0 || this.#isClosed) return;
    const isFirst = this.#position === null;
    this.log.add(logged);
    this.#position = position;
    if (isFirst || logged.length > 0) this.#wake();
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }
}
