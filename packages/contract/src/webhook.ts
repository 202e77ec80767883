import { type Static, Type } from "typebox";
import { DELIVERY_STATES, EVENT_KINDS, WEBHOOK_KINDS } from "./enums.ts";
import {
  Count,
  Instant,
  InstantOrNull,
  Line,
  named,
  oneOf,
  orNull,
  PRINTABLE,
  StringOrNull,
  Uuid,
  Word,
} from "./fields.ts";
import { EventKind } from "./lifecycle-event.ts";

const closed = { additionalProperties: false } as const;

const filterFields = {
  kinds: Type.Array(EventKind, {
    minItems: 1,
    maxItems: EVENT_KINDS.length,
    uniqueItems: true,
    description: "only events of these kinds; left out: of all kinds",
  }),
  handler: Word("only events of this handler"),
  pool: Word("only events of this pool"),
};

/** Body of POST /v1/webhooks. */
export const WebhookSubmission = named(
  "WebhookSubmission",
  {
    url: Type.String({
      minLength: 1,
      maxLength: 2_048,
      pattern: PRINTABLE,
      description: "an http or https URL; it gets a signed POST",
    }),
    ...Type.Partial(Type.Object(filterFields)).properties,
  },
  closed,
);
export type WebhookSubmission = Static<typeof WebhookSubmission>;

const webhookFields = {
  webhookId: Uuid("the webhook"),
  kind: oneOf(
    WEBHOOK_KINDS,
    "ON_FINISH: a receiver of ends that jobs name in onFinish. SUBSCRIPTION: a receiver of all events that its filter chooses",
    "WebhookKind",
  ),
  url: Type.String({ description: "of a subscription; of ON_FINISH the scheme, host and port of the receiver" }),
  kinds: orNull(Type.Array(EventKind), "kinds of events; null: all, or the webhook is no subscription"),
  handler: StringOrNull("null: all handlers, or the webhook is no subscription"),
  pool: StringOrNull("null: all pools, or the webhook is no subscription"),
  state: oneOf(["ACTIVE", "DISABLED"], "DISABLED: its deliveries wait until it is enabled", "WebhookState"),
  createdAt: Instant("of a subscription; of ON_FINISH, its first delivery"),
  lastDeliveredAt: InstantOrNull("last delivery; null: there was none"),
  failingSince: InstantOrNull("first failure since the last delivery; null: the last try delivered"),
  lastError: StringOrNull("last failure since the last delivery"),
  disabledAt: InstantOrNull("null: it is ACTIVE"),
  disabledReason: StringOrNull("why it is DISABLED"),
};

export const WebhookBody = named("Webhook", webhookFields);
export type WebhookBody = Static<typeof WebhookBody>;

const Secret = Type.String({
  description: "by which the receiver checks signatures (Standard Webhooks): whsec_ and base64. No other answer has it",
});

export const CreatedWebhookBody = named("CreatedWebhook", { ...webhookFields, secret: Secret });
export type CreatedWebhookBody = Static<typeof CreatedWebhookBody>;

export const RotatedSecretBody = named("RotatedSecret", {
  secret: Secret,
  formerUntil: Instant("until then deliveries have a signature by the former secret, too"),
});
export type RotatedSecretBody = Static<typeof RotatedSecretBody>;

/** Body of POST /v1/webhooks/{webhookId}/disable. */
export const WebhookDisabling = named("WebhookDisabling", { reason: Type.Optional(Line("for the list")) }, closed);

export const DeliveryState = oneOf(
  DELIVERY_STATES,
  "PENDING: it is tried until a try delivers it, or the last one fails. FAILED: no further try follows, except by a replay",
  "DeliveryState",
);

export const DeliveryBody = named("Delivery", {
  deliveryId: Uuid("the delivery"),
  webhookId: Uuid("its webhook"),
  eventId: Type.String({ description: "of the event; the header webhook-id of every try" }),
  event: EventKind,
  executionId: orNull(Uuid("an execution"), "of the event; null: it is about a job"),
  url: Type.String({ description: "that gets it" }),
  state: DeliveryState,
  tries: Count("so far; a replay counts anew"),
  nextTryAt: InstantOrNull("null: there is no further try"),
  createdAt: Instant("when the event was written"),
  triedAt: InstantOrNull("the last try; null: there was none"),
  status: orNull(Type.Integer(), "of the last answer; null: there was none"),
  error: StringOrNull("why the last try failed"),
});
export type DeliveryBody = Static<typeof DeliveryBody>;

/** Body of POST /v1/webhooks/{webhookId}/replay. */
export const WebhookReplay = Type.Object(
  {
    deliveryIds: Type.Optional(
      Type.Array(Uuid("a delivery that is not PENDING"), { minItems: 1, maxItems: 1_000, description: "these" }),
    ),
    since: Type.Optional(Instant("all FAILED ones that were created at or after")),
    until: Type.Optional(Instant("with since: and before; default: now")),
  },
  { ...closed, title: "WebhookReplay" },
);
export type WebhookReplay = Static<typeof WebhookReplay>;

export const ReplayedBody = named("ReplayedDeliveries", {
  replayed: Count("deliveries that are sent again; with since at most 10000, so repeat the request while it is 10000"),
});
export type ReplayedBody = Static<typeof ReplayedBody>;
