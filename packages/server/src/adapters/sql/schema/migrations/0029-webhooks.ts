/**
 * Webhooks: subscriptions and receivers of ends, and their deliveries.
 *
 * An owner that does not know the tables would end executions without their webhooks, so the first job with `onFinish` raises
 * `needs_level` (commit/raised-levels.ts).
 */
export const webhooks = `
CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  tenant text NOT NULL,
  -- URL of a subscription; scheme, host and port of a receiver of ends.
  url text NOT NULL,
  -- JSON; NULL: the webhook is a receiver of ends.
  filter text,
  secret text,
  -- Secret before the present one, and the instant until which it signs, too.
  former_secret text,
  former_until bigint,
  created_at bigint NOT NULL,
  failing_since bigint,
  last_error text,
  last_delivered_at bigint,
  disabled_at bigint,
  disabled_reason text
);
CREATE INDEX webhooks_subscriptions ON webhooks (id) WHERE filter IS NOT NULL;

CREATE TABLE webhook_deliveries (
  -- Derived from the webhook and the event, in the order of time.
  id uuid PRIMARY KEY,
  -- A receiver of ends has no row before its first try.
  webhook uuid NOT NULL,
  tenant text NOT NULL,
  shard smallint NOT NULL,
  url text NOT NULL,
  -- JSON of the lifecycle event.
  event text NOT NULL,
  state smallint NOT NULL,
  tries integer NOT NULL,
  -- Time of the next try; NULL: there is none.
  next_at bigint,
  created_at bigint NOT NULL,
  tried_at bigint,
  status integer,
  error text
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook, next_at) WHERE state = 0;
CREATE INDEX webhook_deliveries_of_webhook ON webhook_deliveries (webhook, id);
`;
