import type { Logger } from "pino";
import type { Epoch, ShardId } from "../domain/ids.ts";
import { type EventSink, SinkRefused } from "../ports/event-sink.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { StoreEventSinks } from "../ports/store-event-sinks.ts";
import type { EventRow, StoreEvents } from "../ports/store-events.ts";
import { RelayCursor } from "./relay-cursor.ts";
import { RelayWaits } from "./relay-waits.ts";

/** Longest interval in ms of two reads without a commit of this node: rows of an owner before this one wait, too. */
const READ_EVERY_MS = 1_000;
/** Shortest interval in ms of two reads, so that a read has the rows of several commits. */
const READ_AGAIN_MS = 20;
/** Largest number of rows in one delivery. */
const ROWS_MAX = 2_000;

export interface SinkRelayDependencies {
  sink: EventSink;
  events: Pick<StoreEvents, "read" | "oldest">;
  positions: Pick<StoreEventSinks, "sinkPositions" | "advanceSink">;
  /** Shards that the node owns now, with their epochs. */
  owned: () => ReadonlyMap<ShardId, Epoch>;
  runtime: Runtime;
  log: Logger;
}

/** Figures of a relay, for metrics. */
export interface RelayLoad {
  delivered: number;
  gaps: number;
  lagSec: number;
}

/**
 * Brings the rows of the node's shards to one sink: reads the rows behind the sink's positions, delivers them, and stores
 * the positions. One delivery is in flight at a time. A crash between the last two steps repeats rows; nothing loses them.
 */
export class SinkRelay {
  readonly #deps: SinkRelayDependencies;
  readonly #cursor = new RelayCursor();
  readonly #waits = new RelayWaits();
  #isOpen = false;
  #isStopped = false;
  #isRunning = false;
  #isWoken = false;
  /** Whether the next round begins soon without a commit. */
  #isPausing = false;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;
  #delivered = 0;
  #gaps = 0;
  /** Time of the oldest event that the sink does not have yet, as far as the relay has read; null: the sink has all. */
  #behindSince: number | null = null;

  constructor(deps: SinkRelayDependencies) {
    this.#deps = deps;
  }

  get load(): RelayLoad {
    const lagMs = this.#behindSince === null ? 0 : this.#deps.runtime.now() - this.#behindSince;
    return { delivered: this.#delivered, gaps: this.#gaps, lagSec: Math.max(0, lagMs) / 1_000 };
  }

  start(): void {
    this.#go();
  }

  /** Commits with events are durable. A relay that waits after a failure goes on waiting. */
  readonly wake = (): void => {
    if (this.#isRunning) this.#isWoken = true;
    else if (!this.#isPausing && !this.#waits.isDown) this.#go();
  };

  /** Ends the relay. Rows that the sink has not acknowledged stay for the next owner of their shards. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#deps.sink.close();
    await this.#round;
  }

  #go(): void {
    if (this.#isStopped || this.#isRunning) return;
    this.#timer?.cancel();
    this.#isPausing = false;
    this.#isRunning = true;
    this.#isWoken = false;
    this.#round = this.#attempt().then((waitMs) => {
      this.#isRunning = false;
      if (this.#isStopped) return;
      this.#isPausing = waitMs === READ_AGAIN_MS;
      this.#timer = this.#deps.runtime.setTimer(waitMs, () => this.#go());
    });
  }

  /** @returns time in ms until the next round */
  async #attempt(): Promise<number> {
    const { sink, log } = this.#deps;
    try {
      const isMore = await this.#bring();
      if (this.#waits.worked()) log.info({ sink: sink.name }, "relay: the sink gets events again");
      return isMore || this.#isWoken ? READ_AGAIN_MS : READ_EVERY_MS;
    } catch (error) {
      if (this.#isStopped) return 0;
      const { waitMs, isNews } = this.#waits.failed(error);
      const told = { err: error, sink: sink.name };
      if (error instanceof SinkRefused) this.#isOpen = false;
      if (isNews && error instanceof SinkRefused)
        log.error(told, "relay: the sink refuses events until its cause is changed; events are kept in the store");
      else if (isNews) log.warn(told, "relay: events could not be brought to the sink, retrying; the store keeps them");
      return waitMs;
    }
  }

  /** @returns whether there were rows */
  async #bring(): Promise<boolean> {
    const { sink, events, positions } = this.#deps;
    // A node without events names faults of the sink, too.
    if (!this.#isOpen) await sink.open();
    this.#isOpen = true;
    const owned = new Map(this.#deps.owned());
    const unknown = this.#cursor.follow(owned);
    if (unknown.length > 0) this.#cursor.begin(owned, await positions.sinkPositions(sink.name, unknown));
    const { shards } = this.#cursor;
    if (shards.length === 0) return false;
    const rows = (await events.read(this.#cursor.after, ROWS_MAX, shards)) ?? this.#cursor.gaps(await events.oldest());
    this.#behindSince = rows.length === 0 ? null : (rows[0]?.events[0]?.at ?? this.#behindSince);
    if (rows.length === 0) return false;
    await sink.deliver(rows);
    await positions.advanceSink(sink.name, this.#cursor.delivered(rows));
    this.#count(rows);
    return true;
  }

  #count(rows: readonly EventRow[]): void {
    const { sink, log } = this.#deps;
    for (const { shard, epoch, seq, events, droppedAfter } of rows) {
      this.#delivered += events.length;
      if (droppedAfter === undefined) continue;
      this.#gaps++;
      const gap = { sink: sink.name, shard, after: droppedAfter, last: { epoch, seq } };
      log.error(gap, "relay: the store removed events before the sink had them; the sink was told of the gap");
    }
  }
}
