import type { ReadOptions, Requests } from "./requests.ts";
import type {
  CreatedWebhook,
  ReplayRequest,
  RotatedSecret,
  WebhookDelivery,
  WebhookInfo,
  WebhookRequest,
} from "./webhook-types.ts";

/** Webhooks: receivers of ends and events, and their deliveries. Every method throws `MainspringError`. */
export class Webhooks {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Lists webhooks: subscriptions, and the receivers of ends that were tried. */
  list(): AsyncGenerator<WebhookInfo, void, undefined> {
    return this.#requests.pages<WebhookInfo>("/v1/webhooks", {});
  }

  get(webhookId: string, options: ReadOptions = {}): Promise<WebhookInfo> {
    return this.#requests.get(pathOf(webhookId), options);
  }

  /**
   * Subscribes a URL to events. @returns the subscription with its secret, which no other answer has
   * @throws {MainspringError} CONFLICT if the servers tell subscriptions of no events
   */
  create(webhook: WebhookRequest, options: ReadOptions = {}): Promise<CreatedWebhook> {
    return this.#requests.send("POST", "/v1/webhooks", webhook, false, options);
  }

  /** Gives a subscription a new secret. The former one signs for another day, too. */
  rotateSecret(webhookId: string, options: ReadOptions = {}): Promise<RotatedSecret> {
    return this.#requests.send("POST", `${pathOf(webhookId)}/rotate-secret`, {}, false, options);
  }

  /** Enables a webhook: deliveries that wait are sent. */
  enable(webhookId: string, options: ReadOptions = {}): Promise<WebhookInfo> {
    return this.#requests.send("POST", `${pathOf(webhookId)}/enable`, {}, true, options);
  }

  /** Disables a webhook: deliveries wait, and a subscription gets no new ones. @param options `reason`: for the list */
  disable(webhookId: string, { reason, ...options }: ReadOptions & { reason?: string } = {}): Promise<WebhookInfo> {
    const body = reason === undefined ? {} : { reason };
    return this.#requests.send("POST", `${pathOf(webhookId)}/disable`, body, true, options);
  }

  /** Removes a webhook with its deliveries. A receiver of ends comes back with the next end. */
  async remove(webhookId: string, options: ReadOptions = {}): Promise<void> {
    await this.#requests.send("DELETE", pathOf(webhookId), undefined, true, options);
  }

  /** Lists deliveries of a webhook, the newest first. The client fetches each page when the caller gets to it. */
  deliveries(
    webhookId: string,
    filter: { state?: WebhookDelivery["state"]; limit?: number } = {},
  ): AsyncGenerator<WebhookDelivery, void, undefined> {
    return this.#requests.pages<WebhookDelivery>(`${pathOf(webhookId)}/deliveries`, filter);
  }

  /**
   * Sends deliveries again, from the first try on.
   * @returns number of deliveries; 10,000: there may be more, so repeat the call
   * @throws {MainspringError} CONFLICT if the webhook is DISABLED
   */
  async replay(webhookId: string, which: ReplayRequest, options: ReadOptions = {}): Promise<number> {
    const path = `${pathOf(webhookId)}/replay`;
    return (await this.#requests.send<{ replayed: number }>("POST", path, which, false, options)).replayed;
  }
}

function pathOf(webhookId: string): string {
  return `/v1/webhooks/${encodeURIComponent(webhookId)}`;
}
