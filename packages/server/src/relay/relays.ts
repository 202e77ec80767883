import type { Logger } from "pino";
import type { Epoch, ShardId } from "../domain/ids.ts";
import type { EventSink } from "../ports/event-sink.ts";
import type { Readings } from "../ports/metrics.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { StoreEventSinks } from "../ports/store-event-sinks.ts";
import type { StoreEvents } from "../ports/store-events.ts";
import { OutboxBudget } from "./outbox-budget.ts";
import { SinkRelay } from "./sink-relay.ts";

/** Interval in ms at which a node counts the bytes of kept events. */
const COUNT_EVERY_MS = 60_000;

export interface RelaysDependencies {
  sinks: readonly EventSink[];
  store: { events: Pick<StoreEvents, "read" | "oldest">; eventSinks: StoreEventSinks };
  /** Shards that the node owns now, with their epochs. */
  owned: () => ReadonlyMap<ShardId, Epoch>;
  /** Limit of the bytes of kept events in the whole store. */
  maxBytes: number;
  runtime: Runtime;
  log: Logger;
}

/** The relays of all sinks of a node, and the limit of the space of rows that wait for a sink. */
export class Relays {
  readonly #deps: RelaysDependencies;
  readonly #relays: ReadonlyMap<string, SinkRelay>;
  readonly #budget: OutboxBudget;
  #timer: Timer | null = null;
  #isStopped = false;
  #dropped = 0;

  constructor(deps: RelaysDependencies) {
    this.#deps = deps;
    const { eventSinks: positions, events } = deps.store;
    this.#relays = new Map(deps.sinks.map((sink) => [sink.name, new SinkRelay({ ...deps, sink, events, positions })]));
    this.#budget = new OutboxBudget(deps.maxBytes);
  }

  start(): void {
    for (const relay of this.#relays.values()) relay.start();
    void this.#round();
  }

  /** Commits with events are durable. */
  readonly wake = (): void => {
    for (const relay of this.#relays.values()) relay.wake();
  };

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await Promise.all(Array.from(this.#relays.values(), (relay) => relay.stop()));
  }

  readings(): Readings {
    const loads = Array.from(this.#relays, ([name, { load }]) => [name, load] as const);
    return {
      eventsDelivered: new Map(loads.map(([name, { delivered }]) => [name, delivered])),
      eventGaps: new Map(loads.map(([name, { gaps }]) => [name, gaps])),
      eventSinkLagSec: new Map(loads.map(([name, { lagSec }]) => [name, lagSec])),
      eventRowsDropped: this.#dropped,
    };
  }

  async #round(): Promise<void> {
    const { log, runtime } = this.#deps;
    try {
      await this.#count();
    } catch (error) {
      log.warn({ err: error }, "relay: the space of kept events could not be counted, retrying in a minute");
    }
    if (!this.#isStopped) this.#timer = runtime.setTimer(COUNT_EVERY_MS, () => void this.#round());
  }

  async #count(): Promise<void> {
    const { store, log } = this.#deps;
    const owned = new Map(this.#deps.owned());
    this.#budget.follow(owned);
    if (owned.size === 0) return;
    const sizes = await store.eventSinks.eventBytes(this.#budget.after, [...owned.keys()]);
    const upTo = this.#budget.count(sizes, await store.events.oldest());
    if (upTo.size === 0) return;
    const rows = await store.eventSinks.dropEvents(upTo);
    this.#dropped += rows;
    log.error(
      { rows, shards: [...upTo.keys()] },
      "relay: kept events exceed MAINSPRING_EVENTS_MAX_MB because a sink does not take them; the oldest were removed",
    );
  }
}
