import type { DeliveryBody, WebhookBody } from "@mainspring/contract";
import { eventId } from "../../domain/lifecycle-event.ts";
import type { Delivery, Webhook } from "../../ports/store-webhooks.ts";
import { ProblemError, problem } from "../http/errors.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";

export function webhookBody(webhook: Webhook): WebhookBody {
  const { id, kind, url, filter, createdAt, lastError, disabledAt, disabledReason } = webhook;
  const kinds = filter === null || filter.kinds.length === 0 ? null : [...filter.kinds];
  return {
    ...{ webhookId: id, kind, url, kinds, handler: filter?.handler ?? null, pool: filter?.pool ?? null },
    state: disabledAt === null ? "ACTIVE" : "DISABLED",
    createdAt: formatInstant(createdAt),
    lastDeliveredAt: formatInstantOrNull(webhook.lastDeliveredAt),
    failingSince: formatInstantOrNull(webhook.failingSince),
    lastError,
    disabledAt: formatInstantOrNull(disabledAt),
    disabledReason,
  };
}

export function deliveryBody(delivery: Delivery): DeliveryBody {
  const { id, webhook, event, url, state, tries, nextAt, createdAt, triedAt, status, error } = delivery;
  return {
    ...{ deliveryId: id, webhookId: webhook, eventId: eventId(event), event: event.kind },
    ...{ executionId: event.executionId, url, state, tries },
    nextTryAt: formatInstantOrNull(nextAt),
    createdAt: formatInstant(createdAt),
    triedAt: formatInstantOrNull(triedAt),
    ...{ status, error },
  };
}

/** @throws {ProblemError} 404 */
export function found(webhook: Webhook | null): Webhook {
  if (webhook === null) throw new ProblemError(problem("not-found", "there is no such webhook"));
  return webhook;
}
