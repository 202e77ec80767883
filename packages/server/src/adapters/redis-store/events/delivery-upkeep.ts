import type { EpochMs } from "../../../domain/ids.ts";
import { DELIVERIES_KEPT_DAYS } from "../../../ports/store-webhooks.ts";
import { instantBytes } from "../bytes.ts";
import type { PausedCall } from "./event-sinks.ts";

const DAY_MS = 86_400_000;
/** Deliveries and receivers of one call, as the library has it. */
const PER_CALL = 500;

/** Removes deliveries of events that are older than the retention, and receivers of ends that have none any more. */
export async function retireDeliveries(call: PausedCall, now: EpochMs, days: number): Promise<void> {
  const keepFrom = now - Math.max(days, DELIVERIES_KEPT_DAYS) * DAY_MS;
  while (Number(await call("ms_retire_deliveries", [instantBytes(keepFrom)])) === PER_CALL);
  for (let passed = 0; ; ) {
    const answer = await call("ms_forget_receivers", [`${Math.floor(keepFrom)}`, `${passed}`]);
    const [seen = 0, removed = 0] = answer as number[];
    passed += seen - removed;
    if (seen < PER_CALL) return;
  }
}
