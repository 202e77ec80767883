import type { Config } from "./config.ts";

/**
 * Settings that must have the same values on all nodes, as nodes tell each other: without secrets, and without settings that
 * have no effect on this node.
 */
export function alikeSettings(config: Config): Record<string, string> {
  const { events, eventsKeepMin, eventsMaxMb, kafkaFormat, kafkaTopicPrefix, redis, ingest } = config;
  const kept = { MAINSPRING_EVENTS_KEEP_MIN: String(eventsKeepMin), MAINSPRING_EVENTS_MAX_MB: String(eventsMaxMb) };
  const kafka = { MAINSPRING_KAFKA_FORMAT: kafkaFormat, MAINSPRING_KAFKA_TOPIC_PREFIX: kafkaTopicPrefix };
  return {
    MAINSPRING_EVENTS: events.join(","),
    // Nodes may have other names for its host.
    MAINSPRING_REDIS: redis === null ? "" : `/${redis.database}?prefix=${redis.prefix}`,
    MAINSPRING_INGEST: ingest,
    ...(events.length > 0 && kept),
    ...(events.includes("kafka") && kafka),
  };
}
