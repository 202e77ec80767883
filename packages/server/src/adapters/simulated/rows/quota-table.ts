import {
  type Bucket,
  burstOf,
  filledBucket,
  PLACES_KEPT_MS,
  type PlaceQuota,
  portionOf,
} from "../../../domain/quota.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import type { PlaceAnswer, PlaceAsk, TokenAnswer, TokenAsk } from "../../../ports/store-quotas.ts";
import type { StoreData } from "../store-data.ts";

interface Places {
  places: number;
  until: number;
}

/** Tokens and places of quotas; see StoreQuotas. */
export class QuotaTable {
  readonly #buckets = new Map<string, Bucket>();
  /** Places by quota, then by node. */
  readonly #places = new Map<string, Map<string, Places>>();

  /** A copy with the same content. */
  copy(): QuotaTable {
    const copy = new QuotaTable();
    for (const [key, bucket] of this.#buckets) copy.#buckets.set(key, bucket);
    for (const [key, nodes] of this.#places) copy.#places.set(key, new Map(nodes));
    return copy;
  }

  takeTokens({ tenant, quota, perSec, needed, wanted }: TokenAsk, now: number): TokenAnswer {
    const key = `${quota} ${tenant}`;
    const known = this.#buckets.get(key) ?? { tokens: burstOf(perSec), at: now };
    const { tokens, at } = filledBucket(known, perSec, now);
    const taken = portionOf(tokens, needed, wanted);
    this.#buckets.set(key, { tokens: tokens - taken, at });
    return { taken, left: tokens - taken };
  }

  takePlaces({ tenant, quota, limit, node, held, needed, wanted }: PlaceAsk, data: StoreData): PlaceAnswer {
    const key = `${quota} ${tenant}`;
    const now = data.now();
    const nodes = this.#places.get(key) ?? new Map<string, Places>();
    this.#places.set(key, nodes);
    for (const [name, { until }] of nodes) if (until <= now || name === node) nodes.delete(name);
    const heldByOthers = [...nodes.values()].reduce((sum, { places }) => sum + places, 0);
    const used = Math.min(limit, countPlaces(data, tenant, quota));
    const taken = needed === 0 ? 0 : portionOf(limit - used - heldByOthers - held, needed, wanted);
    if (held + taken > 0) nodes.set(node, { places: held + taken, until: now + PLACES_KEPT_MS });
    return { taken, used, heldByOthers };
  }
}

/** Rows of a tenant that a quota limits. */
export function countPlaces(data: StoreData, tenant: string, quota: PlaceQuota): number {
  let count = 0;
  if (quota === "maxRecurring") {
    for (const { job, deletedAt } of data.jobs.all())
      if (job.tenant === tenant && isRecurringJobId(job.jobId) && deletedAt === null) count++;
    return count;
  }
  for (const { job, queue } of data.executions.all())
    if (job.tenant === tenant && (queue === "WAITING" || queue === "READY")) count++;
  return count;
}
