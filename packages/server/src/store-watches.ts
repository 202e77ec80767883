import type { Logger } from "pino";
import { MissedWatch } from "./api/recurring/missed-watch.ts";
import { durabilityOf, type NodeStore } from "./node-store.ts";
import type { Config } from "./ops/config.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import type { createMetrics } from "./ops/metrics.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { TimeZoneRules } from "./ports/time-zone-rules.ts";
import { RedisStoreWatch } from "./redis-store-watch.ts";
import { BacklogWatch } from "./scheduler/watches/backlog-watch.ts";
import { OverdueWatch } from "./scheduler/watches/overdue-watch.ts";

/** Parts of a node that the watches of the whole store use. */
interface WatchDependencies {
  config: Config;
  runtime: Runtime;
  log: Logger;
  life: Lifecycle;
  store: NodeStore;
  metrics: ReturnType<typeof createMetrics>;
}

/**
 * Starts the watches for overdue jobs and for the backlog of each pool, over the whole cluster, and the looks at a Redis that is the store.
 * @returns the last of these; null: the store is another one
 */
export function watchStore({ config, runtime, log, life, store, metrics }: WatchDependencies): RedisStoreWatch | null {
  for (const Watch of [OverdueWatch, BacklogWatch]) {
    begin(new Watch(store.queries, runtime, log), "watch of the store", { life, metrics });
  }
  if (!("figures" in store)) return null;
  const watch = new RedisStoreWatch(store, runtime, durabilityOf(config));
  begin(watch, "looks at Redis", { life, metrics });
  return watch;
}

/**
 * Starts the search for missed instants in the ledgers of the whole cluster, on nodes that serve the api.
 * @returns null: the node has no api
 */
export function watchMissed(
  { config, runtime, log, life, store, metrics }: WatchDependencies,
  zones: TimeZoneRules,
): MissedWatch | null {
  if (!config.roles.includes("api")) return null;
  const { queries } = store;
  const watch = new MissedWatch({ queries, runtime, log, zones, retentionDays: config.retentionDays });
  begin(watch, "search for missed instants", { life, metrics });
  return watch;
}

/** Starts a watch, which shows its readings as metrics and stops with the node. */
function begin(
  watch: OverdueWatch | BacklogWatch | MissedWatch | RedisStoreWatch,
  name: string,
  { life, metrics }: Pick<WatchDependencies, "life" | "metrics">,
): void {
  metrics.watch(() => watch.readings());
  watch.start();
  life.started(name, async () => watch.stop());
}
