import type { DeliveryId, WebhookId } from "../../domain/webhook.ts";
import type { DueDelivery } from "../../ports/store-webhooks.ts";

/** Largest number of deliveries that are under way at once to one webhook of this node, and to one that failed last. */
export const EACH_MAX = 8;
const FAILING_EACH_MAX = 1;
/** Largest number to all webhooks, and to those that failed last: the others always have room. */
const ALL_MAX = 256;
const FAILING_ALL_MAX = 128;
/** Largest number of webhooks whose failures the node remembers. */
const REMEMBERED_MAX = 10_000;

/**
 * Deliveries under way. A webhook has few places, and a webhook that fails has one, so that a receiver that hangs holds up
 * nobody else.
 */
export class Flights {
  readonly #ids = new Set<DeliveryId>();
  readonly #each = new Map<WebhookId, number>();
  readonly #failing = new Set<WebhookId>();
  #ofFailing = 0;
  /** Deliveries under way that took a place of the failing ones. */
  readonly #slow = new Set<DeliveryId>();

  get size(): number {
    return this.#ids.size;
  }

  /** Webhooks that have no place left. */
  get busy(): ReadonlySet<WebhookId> {
    return new Set([...this.#each].filter(([id, count]) => count >= this.#limit(id)).map(([id]) => id));
  }

  /** Gives the delivery a place. @returns false: there is none, or it is under way already */
  take({ id, webhook }: Pick<DueDelivery, "id" | "webhook">): boolean {
    const count = this.#each.get(webhook) ?? 0;
    const isFailing = this.#failing.has(webhook);
    if (this.#ids.has(id) || count >= this.#limit(webhook) || this.#ids.size >= ALL_MAX) return false;
    if (isFailing && this.#ofFailing >= FAILING_ALL_MAX) return false;
    this.#ids.add(id);
    this.#each.set(webhook, count + 1);
    if (isFailing) {
      this.#slow.add(id);
      this.#ofFailing++;
    }
    return true;
  }

  /** The result of a delivery is kept, or given up. */
  leave({ id, webhook }: Pick<DueDelivery, "id" | "webhook">): void {
    if (!this.#ids.delete(id)) return;
    if (this.#slow.delete(id)) this.#ofFailing--;
    const count = (this.#each.get(webhook) ?? 1) - 1;
    if (count > 0) this.#each.set(webhook, count);
    else this.#each.delete(webhook);
  }

  /** Remembers whether the last try of a webhook was a success. */
  tell(webhook: WebhookId, isDelivered: boolean): void {
    this.#failing.delete(webhook);
    if (isDelivered) return;
    this.#failing.add(webhook);
    const [oldest] = this.#failing;
    if (this.#failing.size > REMEMBERED_MAX && oldest !== undefined) this.#failing.delete(oldest);
  }

  #limit(webhook: WebhookId): number {
    return this.#failing.has(webhook) ? FAILING_EACH_MAX : EACH_MAX;
  }
}
