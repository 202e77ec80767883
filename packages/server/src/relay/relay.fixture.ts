import { pino } from "pino";
import { EventTable } from "../adapters/simulated/rows/event-table.ts";
import type { Epoch, ShardId } from "../domain/ids.ts";
import { type LifecycleEvent, NO_EVENT_FIELDS } from "../domain/lifecycle-event.ts";
import { type EventSink, SinkUnavailable } from "../ports/event-sink.ts";
import { ManualRuntime } from "../ports/manual-runtime.fixture.ts";
import type { EventRow } from "../ports/store-events.ts";
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

  relay(sink = this.sink): SinkRelay {
    const { runtime, table } = this;
    return new SinkRelay({
      sink,
      events: {
        read: async (after, limit, shards) => {
          this.reads++;
          const error = this.outages.shift();
          if (error !== undefined) throw error;
          return table.read(after, limit, new Set(shards));
        },
        oldest: async () => table.oldest(),
      },
      positions: {
        sinkPositions: async (name, shards) => table.sinkPositions(name, shards, runtime.now()),
        advanceSink: async (name, reached) => table.advanceSink(name, reached),
      },
      ...{ owned: () => this.owned, runtime, log: pino({ level: "silent" }) },
    });
  }

  write(shard: ShardId, epoch: Epoch, seq: number): void {
    this.table.keep(rowOf(shard, epoch, seq), this.runtime.now());
  }
}
