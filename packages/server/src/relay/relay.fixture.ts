import { pino } from "pino";
import { EventTable } from "../adapters/simulated/rows/event-table.ts";
import type { Epoch, ShardId } from "../domain/ids.ts";
import { type LifecycleEvent, NO_EVENT_FIELDS } from "../domain/lifecycle-event.ts";
import { type EventSink, SinkUnavailable } from "../ports/event-sink.ts";
import { ManualRuntime } from "../ports/manual-runtime.fixture.ts";
import type { EventPosition, EventRow } from "../ports/store-events.ts";
import { Relays } from "./relays.ts";
import { SinkRelay } from "./sink-relay.ts";

/** A row with one event. */
export function rowOf(shard: ShardId, epoch: Epoch, seq: number): EventRow {
  const event: LifecycleEvent = {
    ...{ ...NO_EVENT_FIELDS, kind: "JobCompleted", at: 1_700_000_000_000, executionId: `${shard}-${epoch}-${seq}` },
    ...{ tenant: "default", pool: "default", handler: "echo", jobVersion: 1 },
  };
  return { shard, epoch, seq, events: [event] };
}

/** A sink in memory that fails as a test wants it. */
export class MemorySink implements EventSink {
  readonly name = "memory";
  /** Keys of all rows that were brought, repeats included. */
  readonly brought: string[] = [];
  readonly gaps: EventRow[] = [];
  opened = 0;
  isClosed = false;
  /** Errors of the next calls. */
  openErrors: Error[] = [];
  /** Number of the next deliveries that are lost, and of those whose answer is lost. */
  lost = 0;
  unanswered = 0;
  /** Called while a delivery is in flight. */
  during: () => void = () => undefined;

  async open(): Promise<void> {
    const error = this.openErrors.shift();
    if (error !== undefined) throw error;
    this.opened++;
  }

  async deliver(rows: readonly EventRow[]): Promise<void> {
    if (this.lost-- > 0) throw new SinkUnavailable("lost");
    for (const row of rows) {
      this.brought.push(`${row.shard}/${row.epoch}/${row.seq}`);
      if (row.droppedAfter !== undefined) this.gaps.push(row);
    }
    this.during();
    if (this.unanswered-- > 0) throw new SinkUnavailable("no answer");
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

/** A store with kept events, and a relay on a clock of its own. */
export class RelayScene {
  readonly runtime = new ManualRuntime();
  readonly table = new EventTable();
  readonly sink = new MemorySink();
  readonly owned = new Map<ShardId, Epoch>();
  reads = 0;
  /** Errors of the next reads. */
  outages: Error[] = [];

  readonly #store = {
    events: {
      read: async (after: EventPosition, limit: number, shards: readonly ShardId[] = []) => {
        this.reads++;
        const error = this.outages.shift();
        if (error !== undefined) throw error;
        return this.table.read(after, limit, new Set(shards));
      },
      oldest: async () => this.table.oldest(),
    },
    eventSinks: {
      sinkPositions: async (name: string, shards: readonly ShardId[]) =>
        this.table.sinkPositions(name, shards, this.runtime.now()),
      advanceSink: async (name: string, reached: EventPosition) => this.table.advanceSink(name, reached),
      eventBytes: async (after: EventPosition, shards: readonly ShardId[]) => this.table.eventBytes(after, shards),
      dropEvents: async (upTo: EventPosition) => this.table.dropUpTo(upTo),
    },
  };

  relay(sink = this.sink): SinkRelay {
    const { events, eventSinks: positions } = this.#store;
    return new SinkRelay({ sink, events, positions, ...this.#ground });
  }

  /** Relays of the sink. @param maxBytes limit of the kept events of all shards; a row has 150 */
  relays(maxBytes: number): Relays {
    return new Relays({ sinks: [this.sink], store: this.#store, maxBytes, ...this.#ground });
  }

  get #ground() {
    return { owned: () => this.owned, runtime: this.runtime, log: pino({ level: "silent" }) };
  }

  write(shard: ShardId, epoch: Epoch, seq: number): void {
    this.table.keep(rowOf(shard, epoch, seq), this.runtime.now());
  }
}
