import type { WebhookDelivery, WebhookInfo } from "@mainspring/sdk";
import { facts, table } from "./output.ts";

/** Webhooks for people, one a line. */
export function webhooksText(webhooks: readonly WebhookInfo[]): string {
  if (webhooks.length === 0) return "no webhooks: no job with onFinish has ended, and nobody has subscribed";
  const rows = webhooks.map((webhook) => [
    webhook.webhookId,
    webhook.kind,
    webhook.state,
    webhook.url,
    webhook.lastDeliveredAt ?? "-",
    webhook.failingSince ?? "-",
    webhook.disabledReason ?? webhook.lastError ?? "-",
  ]);
  return table(["WEBHOOK", "KIND", "STATE", "URL", "DELIVERED", "FAILING SINCE", "REASON"], rows);
}

/** A webhook for people. @param secret secret that no later command shows; left out: none */
export function webhookText(webhook: WebhookInfo, secret: string | null = null): string {
  return facts([
    ["webhook", webhook.webhookId],
    ["kind", webhook.kind],
    ["url", webhook.url],
    ["state", webhook.state],
    ["reason", webhook.disabledReason],
    ["events", webhook.kinds?.join(", ") ?? null],
    ["handler", webhook.handler],
    ["pool", webhook.pool],
    ["created", webhook.createdAt],
    ["delivered", webhook.lastDeliveredAt],
    ["failing since", webhook.failingSince],
    ["last error", webhook.lastError],
    ["secret", secret],
  ]);
}

/** Deliveries for people, one a line. */
export function deliveriesText(deliveries: readonly WebhookDelivery[]): string {
  if (deliveries.length === 0) return "no deliveries";
  const rows = deliveries.map((delivery) => [
    delivery.deliveryId,
    delivery.event,
    delivery.executionId ?? "-",
    delivery.state,
    String(delivery.tries),
    delivery.triedAt ?? "-",
    delivery.nextTryAt ?? "-",
    delivery.error ?? "-",
  ]);
  return table(["DELIVERY", "EVENT", "EXECUTION", "STATE", "TRIES", "TRIED", "NEXT", "ERROR"], rows);
}
