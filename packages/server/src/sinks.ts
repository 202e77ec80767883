import { openKafkaLink } from "./adapters/kafka/kafka-link.ts";
import { KafkaSink } from "./adapters/kafka/kafka-sink.ts";
import { cloudEvent } from "./api/events/cloud-event.ts";
import type { Config } from "./ops/config.ts";
import type { EventSink } from "./ports/event-sink.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { Store } from "./ports/store.ts";

/** Sinks of lifecycle events that the configuration names. They connect when their relays start. */
export function sinksOf(config: Config, store: Pick<Store, "queries">, runtime: Runtime): EventSink[] {
  const { kafka, kafkaTopicPrefix: prefix } = config;
  if (kafka === null || !config.events.includes("kafka")) return [];
  const details = async (tenant: string, executionId: string) => {
    const found = await store.queries.getExecution(tenant, executionId);
    return { payload: found?.payload ?? null, error: found?.error ?? null };
  };
  return [
    new KafkaSink({ link: () => openKafkaLink(kafka, "mainspring", runtime), prefix, encode: cloudEvent, details }),
  ];
}
