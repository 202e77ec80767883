import type { Logger } from "pino";
import { redisIndex } from "./adapters/redis/redis-index.ts";
import { RedisLink } from "./adapters/redis/redis-link.ts";
import { BesideStore } from "./gateway/beside-store.ts";
import type { Gateway } from "./gateway/gateway.ts";
import { ConfigError } from "./ops/config-file.ts";
import type { Config } from "./ops/config-types.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import type { Bus } from "./ports/bus.ts";
import type { Metrics } from "./ports/metrics.ts";
import type { Runtime } from "./ports/runtime.ts";
import { IndexUnavailable, IndexUnusable, type SideIndex } from "./ports/side-index.ts";

interface NodeParts {
  config: Config;
  runtime: Runtime;
  log: Logger;
  bus: Pick<Bus, "node">;
  life: Pick<Lifecycle, "started">;
}

/**
 * Opens the Redis beside the store, which the configuration names, and lets the gateway use it. A Redis that does not answer stops no start.
 * @param gateway null: the node has none
 * @returns null: there is no Redis, or no role of the node uses it
 * @throws {ConfigError} Redis refuses the login, is too old, or cannot be used for another reason that stays
 */
export async function openRedis(
  { config, runtime, log, bus, life }: NodeParts,
  gateway: Gateway | null,
  metrics: Pick<Metrics, "watch">,
): Promise<SideIndex | null> {
  const isUsed = config.roles.includes("api") || gateway !== null || config.redisWindow;
  if (config.redis === null || !isUsed) return null;
  const link = new RedisLink({ address: config.redis, runtime, log });
  life.started("Redis", async () => link.close());
  metrics.watch(() => ({ redisUp: link.load().isUp ? 1 : 0, redisFailures: link.load().failures }));
  await check(link);
  const index = redisIndex(link, runtime);
  if (gateway === null) return index;
  const beside = new BesideStore({ node: bus.node, gateway, index, runtime, log });
  life.started("gateway's part of Redis", () => beside.stop());
  beside.start();
  return index;
}

async function check(link: RedisLink): Promise<void> {
  try {
    await link.check();
  } catch (error) {
    if (error instanceof IndexUnusable) throw new ConfigError(error.message);
    // The link has logged the reason.
    if (!(error instanceof IndexUnavailable)) throw error;
  }
}
