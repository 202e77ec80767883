import type { LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { shownPool } from "../../domain/pool.ts";
import { deliveryOf } from "../../domain/webhook.ts";
import type { EventSink } from "../../ports/event-sink.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { EventRow } from "../../ports/store-events.ts";
import type { StoreWebhooks, Subscription } from "../../ports/store-webhooks.ts";

/** Largest number of deliveries in one write. */
const WRITE_MAX = 1_000;

interface SubscriptionSinkDependencies {
  store: Pick<StoreWebhooks, "subscriptions" | "addDeliveries">;
  runtime: Pick<Runtime, "now">;
  /** Called when there are new deliveries. */
  added: () => void;
}

/**
 * Writes a delivery for each event and each subscription whose filter chooses it. The ids of deliveries are derived, so rows
 * that the relay brings again change nothing.
 */
export class SubscriptionSink implements EventSink {
  readonly name = "webhook";
  readonly #deps: SubscriptionSinkDependencies;

  constructor(deps: SubscriptionSinkDependencies) {
    this.#deps = deps;
  }

  async open(): Promise<void> {
    // The store is open.
  }

  async deliver(rows: readonly EventRow[]): Promise<void> {
    const { store, runtime, added } = this.#deps;
    // A subscription is told of every event behind the answer that created it, because it is read after the events.
    const subscriptions = await store.subscriptions();
    const deliveries = rows.flatMap(({ shard, events }) =>
      events.flatMap((event) => chosen(subscriptions, event).map((delivery) => ({ ...delivery, shard }))),
    );
    for (let from = 0; from < deliveries.length; from += WRITE_MAX)
      await store.addDeliveries(deliveries.slice(from, from + WRITE_MAX), runtime.now());
    if (deliveries.length > 0) added();
  }

  async close(): Promise<void> {
    // The store closes later.
  }
}

function chosen(subscriptions: readonly Subscription[], event: LifecycleEvent) {
  const wanting = subscriptions.filter((one) => wants(one, event));
  return wanting.map(({ id, url }) => deliveryOf(id, url, event));
}

function wants({ tenant, filter }: Subscription, event: LifecycleEvent): boolean {
  const { kinds, handler, pool } = filter;
  if (tenant !== event.tenant || (kinds.length > 0 && !kinds.includes(event.kind))) return false;
  return (handler === null || handler === event.handler) && (pool === null || pool === shownPool(event.pool));
}
