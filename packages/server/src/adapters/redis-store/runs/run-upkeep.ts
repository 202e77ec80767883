import type { PausedCall } from "../events/event-sinks.ts";
import type { RedisConnection } from "../redis-connection.ts";

/** Runs that one call names. */
const RUNS = 100;

/** Removes the nodes of runs that are gone, also those of an interrupted upkeep. A node may be the run of a sub-workflow, whose nodes follow. */
export async function forgetNodes(db: RedisConnection, call: PausedCall): Promise<void> {
  for (;;) {
    const [runs] = (await db.call([["SRANDMEMBER", db.key("rg"), `${RUNS}`]])) as [Buffer[]];
    if (runs.length === 0) return;
    await call("ms_forget_nodes", runs);
  }
}
