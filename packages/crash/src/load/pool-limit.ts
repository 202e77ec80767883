import { until } from "../clock.ts";
import type { Users } from "../faults/world.ts";

/** Number of attempts that the pool of all jobs allows at once: fewer than its workers have slots. */
export const POOL_LIMIT = 60;

const HEARD_WITHIN_MS = 60_000;

/** Limits the pool before any work. @returns promise that resolves when servers have heard of the limit */
export async function limitPool({ client }: Users): Promise<void> {
  await client.pools.set("default", { maxRunning: POOL_LIMIT });
  await until("the pool's limit is counted", HEARD_WITHIN_MS, async () => {
    const pool = await client.pools.get("default").catch(() => null);
    return pool?.limitUse ?? null;
  });
}
