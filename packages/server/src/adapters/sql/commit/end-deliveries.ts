import type { ShardId } from "../../../domain/ids.ts";
import type { EndDelivery } from "../../../domain/webhook.ts";
import type { ShardCommit } from "../../../ports/store.ts";
import { uuids } from "../connection/arrays.ts";
import { DELIVERY_STATE_CODES, STATE_CODES } from "../connection/codes.ts";
import { newDeliveryValues } from "../webhooks/webhook-rows.ts";
import { AFTER_TOLD } from "./told-events.ts";

/** Part of the commit statement for ends of executions with `onFinish`; see commit-statement.ts. */

const FIRST = AFTER_TOLD;

/**
 * Writes the deliveries of executions whose rows the statement updates, or that it creates as SKIPPED. The fence was asked for
 * these rows, so the part need not ask again. Without `IS TRUE`, the planner makes each condition a join.
 */
export const DELIVERED = `, delivered AS (
  INSERT INTO webhook_deliveries (id, webhook, tenant, shard, url, event, state, tries, next_at, created_at)
  SELECT d.id, d.webhook, d.tenant, d.shard, d.url, d.event, ${DELIVERY_STATE_CODES.PENDING}, 0, $24::int8, $24::int8
  FROM (
    SELECT unnest($${FIRST}::uuid[]) AS id, unnest($${FIRST + 1}::uuid[]) AS webhook, unnest($${FIRST + 2}::text[]) AS tenant,
      unnest($${FIRST + 3}::int2[]) AS shard, unnest($${FIRST + 4}::text[]) AS url, unnest($${FIRST + 5}::text[]) AS event,
      unnest($${FIRST + 6}::uuid[]) AS execution_id
  ) d
  WHERE (d.execution_id IN (SELECT u.id FROM updated u)) IS TRUE
    OR (d.execution_id IN (SELECT b.id FROM born b WHERE b.state = ${STATE_CODES.SKIPPED})) IS TRUE
  ON CONFLICT DO NOTHING
)`;

export function isDelivering({ deliveries }: ShardCommit): boolean {
  return deliveries !== undefined && deliveries.length > 0;
}

/** Values of these parameters. */
export function deliveredValues(batch: readonly ShardCommit[]): unknown[] {
  const all: (EndDelivery & { shard: ShardId })[] = [];
  for (const { shard, deliveries = [] } of batch) for (const own of deliveries) all.push({ ...own, shard });
  return [...newDeliveryValues(all), uuids(all, (d) => d.event.executionId)];
}

/** Approximate bytes that a commit adds with its deliveries. */
export function deliveredBytes({ deliveries }: ShardCommit): number {
  return deliveries === undefined ? 0 : deliveries.reduce((sum, { url }) => sum + 500 + url.length, 0);
}
