import { createHash } from "node:crypto";
import type { Config } from "./config.ts";
import type { TokenConfig } from "./config-tokens.ts";

/**
 * Settings that must have the same values on all nodes, as nodes tell each other: without secrets, and without settings that
 * have no effect on this node.
 */
export function alikeSettings(config: Config): Record<string, string> {
  const { events, eventsKeepMin, eventsMaxMb, kafkaFormat, kafkaTopicPrefix, redis, redisStore, ingest, tokens } =
    config;
  const kept = { MAINSPRING_EVENTS_KEEP_MIN: String(eventsKeepMin), MAINSPRING_EVENTS_MAX_MB: String(eventsMaxMb) };
  const kafka = { MAINSPRING_KAFKA_FORMAT: kafkaFormat, MAINSPRING_KAFKA_TOPIC_PREFIX: kafkaTopicPrefix };
  return {
    MAINSPRING_EVENTS: events.join(","),
    // Nodes may have other names for its host.
    MAINSPRING_REDIS: redis === null ? "" : `/${redis.database}?prefix=${redis.prefix}`,
    ...(redisStore !== null && {
      MAINSPRING_REDIS_REPLICAS: String(redisStore.replicas),
      MAINSPRING_REDIS_DURABILITY: redisStore.isRelaxed ? "relaxed" : "always",
    }),
    MAINSPRING_INGEST: ingest,
    // A token would have other rights at each node otherwise.
    MAINSPRING_OIDC_ISSUER: tokens?.issuer ?? "",
    ...(tokens !== null && rulesOf(tokens)),
    ...(events.length > 0 && kept),
    ...(events.includes("kafka") && kafka),
  };
}

function rulesOf({ audience, algorithms, lifeSec, rolesClaim, roles, tenantClaim, poolsClaim }: TokenConfig) {
  const rights = Array.from(roles, ([value, { kind, scopes }]) => [value, kind, ...scopes.toSorted()].join(" "));
  return {
    MAINSPRING_OIDC_AUDIENCE: audience,
    MAINSPRING_OIDC_ALGORITHMS: algorithms.toSorted().join(","),
    MAINSPRING_OIDC_LIFE_SEC: String(lifeSec),
    MAINSPRING_OIDC_ROLES_CLAIM: rolesClaim,
    // There may be a thousand values, so nodes compare a hash of them.
    MAINSPRING_OIDC_ROLES: createHash("sha256").update(rights.sort().join("\n")).digest("hex").slice(0, 16),
    MAINSPRING_OIDC_TENANT_CLAIM: tenantClaim ?? "",
    MAINSPRING_OIDC_POOLS_CLAIM: poolsClaim,
  };
}
