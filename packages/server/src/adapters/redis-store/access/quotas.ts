import { burstOf, PLACES_KEPT_MS, type PlaceQuota } from "../../../domain/quota.ts";
import type { StoreQuotas } from "../../../ports/store-quotas.ts";
import { queueCode } from "../record.ts";
import type { RedisConnection } from "../redis-connection.ts";

/** Codes of the counters of flows whose sum is the rows of a quota. */
const COUNTERS: Record<PlaceQuota, readonly number[]> = {
  maxWaiting: [queueCode("WAITING"), queueCode("READY")],
  maxRecurring: ["J".charCodeAt(0)],
};

/** See StoreQuotas. */
export function quotas(db: RedisConnection): StoreQuotas {
  return {
    takeTokens: async ({ tenant, quota, perSec, needed, wanted }) => {
      const args = [tenant, quota, `${perSec}`, `${burstOf(perSec)}`, `${needed}`, `${wanted}`];
      const [taken, left] = (await db.fcall("ms_tokens", args)) as Buffer[];
      return { taken: Number(taken), left: Number(left) };
    },
    takePlaces: async ({ tenant, quota, limit, node, held, needed, wanted }) => {
      const codes = COUNTERS[quota].join(" ");
      const asked = [limit, node, held, needed, wanted, PLACES_KEPT_MS].map(String);
      const [taken, used, heldByOthers] = (await db.fcall("ms_places", [tenant, quota, codes, ...asked])) as number[];
      return { taken: Number(taken), used: Number(used), heldByOthers: Number(heldByOthers) };
    },
  };
}
