import { type EventRow, type EventSink, eventId, SinkUnavailable } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import type { SimProcess } from "../sim-process.ts";
import { hasEvents } from "./workflows.ts";

/** Seeds from here on have a sink where their servers write lifecycle events. */
const SINKS_FROM = 110;
/** The sink is down for the first part of every period until faults end, in simulated milliseconds. */
const PERIOD_MS = 240_000;
const DOWN_MS = 60_000;
/** Longest way to the sink or back, and time after which a server no longer waits for an answer. */
const WAY_MS = 40;
const PATIENCE_MS = 3_000;

/** Whether the servers of a seed write lifecycle events, which go to a sink. */
export function hasSink(seed: number): boolean {
  return seed >= SINKS_FROM && hasEvents(seed);
}

/** Another system that gets events, once for all servers: slow, often down, with lost deliveries and lost answers. */
export class SinkSystem {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  #isCalm = false;

  constructor(clock: VirtualClock, random: SeededRandom, history: History) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
  }

  /** Ends all faults. */
  calm(): void {
    this.#isCalm = true;
  }

  /** Sink of a server's process. A delivery arrives even if the process dies meanwhile. */
  sink(process: SimProcess): EventSink {
    return {
      name: "simulated",
      open: () => this.#call(process, () => undefined),
      deliver: (rows) => this.#call(process, () => this.#take(rows)),
      close: async () => undefined,
    };
  }

  #call(process: SimProcess, run: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const fate = this.#isCalm ? 1 : this.#random.next();
      const way = () => this.#random.between(1, WAY_MS);
      const late = () => reject(new SinkUnavailable("no answer"));
      // Some deliveries arrive after the server has stopped waiting.
      this.#clock.plan(fate < 0.02 ? PATIENCE_MS + way() : way(), () => {
        if (this.#isDown || (fate > 0.95 && fate < 1)) return;
        run();
        if (fate >= 0.1 || fate < 0.02) this.#clock.plan(way(), () => process.take(resolve));
      });
      process.plan(PATIENCE_MS, late);
    });
  }

  /** The sink has the rows now. */
  #take(rows: readonly EventRow[]): void {
    const taken = rows.map(({ shard, epoch, seq, events }) => ({ shard, epoch, seq, ids: events.map(eventId) }));
    this.#history.add({ kind: "SINK_TOOK", rows: taken });
  }

  get #isDown(): boolean {
    return !this.#isCalm && this.#clock.nowMs % PERIOD_MS < DOWN_MS;
  }
}
