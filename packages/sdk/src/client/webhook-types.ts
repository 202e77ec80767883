import type { EventKind } from "./lifecycle-event-types.ts";

/** Receiver of a webhook when an execution is final. */
export interface OnFinish {
  /** An http or https URL. It gets a POST with the event of the end, signed by Standard Webhooks. */
  url: string;
}

/** A subscription of a URL to events. */
export interface WebhookRequest {
  /** An http or https URL. It gets a signed POST of each event. */
  url: string;
  /** Kinds of events; default: all. */
  kinds?: readonly EventKind[];
  /** Handler of the events; default: all. */
  handler?: string;
  /** Pool of the events; default: all. */
  pool?: string;
}

/** A receiver of webhooks. */
export interface WebhookInfo {
  webhookId: string;
  /** ON_FINISH: a receiver that jobs name in `onFinish`. SUBSCRIPTION: a receiver of all events that its filter chooses. */
  kind: "ON_FINISH" | "SUBSCRIPTION";
  /** URL of a subscription; of ON_FINISH the scheme, host and port of the receiver. */
  url: string;
  /** Kinds of events; null: all, or the webhook is no subscription. */
  kinds: EventKind[] | null;
  /** Handler of the events; null: all. */
  handler: string | null;
  /** Pool of the events; null: all. */
  pool: string | null;
  /** DISABLED: deliveries wait until the webhook is enabled. */
  state: "ACTIVE" | "DISABLED";
  createdAt: string;
  /** Last delivery; null: none. */
  lastDeliveredAt: string | null;
  /** First failure since the last delivery; null: the last try delivered. */
  failingSince: string | null;
  /** Last failure since the last delivery; null: none. */
  lastError: string | null;
  /** null: the webhook is ACTIVE. */
  disabledAt: string | null;
  disabledReason: string | null;
}

/** A new subscription. */
export interface CreatedWebhook extends WebhookInfo {
  /** Secret by which the receiver checks signatures (Standard Webhooks). No other answer has the secret. */
  secret: string;
}

/** Answer to the rotation of a secret. */
export interface RotatedSecret {
  /** The new secret. */
  secret: string;
  /** Until then deliveries have a signature by the former secret, too. */
  formerUntil: string;
}

/** An event on its way to a receiver. */
export interface WebhookDelivery {
  deliveryId: string;
  webhookId: string;
  /** Id of the event, and the header `webhook-id` of every try. */
  eventId: string;
  event: EventKind;
  /** Execution of the event; null: the event is about a job. */
  executionId: string | null;
  url: string;
  /** FAILED: no further try follows, except by a replay. */
  state: "PENDING" | "DELIVERED" | "FAILED";
  /** Number of tries so far. */
  tries: number;
  /** null: there is no further try. */
  nextTryAt: string | null;
  createdAt: string;
  /** Last try; null: there was none. */
  triedAt: string | null;
  /** Status of the last answer; null: there was none. */
  status: number | null;
  /** Reason for the failure of the last try; null: none. */
  error: string | null;
}

/** Deliveries to send again: these, or all FAILED ones of an interval. */
export type ReplayRequest =
  | { deliveryIds: readonly string[] }
  | {
      /** Begin of the interval in which the deliveries were created. */
      since: Date | string;
      /** End of the interval; default: now. */
      until?: Date | string;
    };
