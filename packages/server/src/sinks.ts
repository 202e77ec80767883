import type { Logger } from "pino";
import { ClickHouseSink } from "./adapters/clickhouse/clickhouse-sink.ts";
import { openKafkaLink } from "./adapters/kafka/kafka-link.ts";
import { KafkaSink } from "./adapters/kafka/kafka-sink.ts";
import { MetricsExporter } from "./adapters/otlp/metrics-exporter.ts";
import { OtlpSink } from "./adapters/otlp/otlp-sink.ts";
import { resourceOf } from "./adapters/otlp/resource.ts";
import { cloudEvent } from "./api/events/cloud-event.ts";
import type { Config } from "./ops/config.ts";
import type { Bus } from "./ports/bus.ts";
import type { EventSink } from "./ports/event-sink.ts";
import type { ExportedMetrics } from "./ports/metrics.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { Store } from "./ports/store.ts";

interface SinkContext {
  config: Config;
  program: { version: string };
  runtime: Runtime;
  log: Logger;
}

/** Export of the metrics of a node; null: the configuration names none. */
export function metricsExporter(
  { config, program, runtime, log, bus }: SinkContext & { bus: Pick<Bus, "node"> },
  metrics: ExportedMetrics,
): MetricsExporter | null {
  const { otlp: address, otlpMetricsSec: everySec } = config;
  if (address === null || everySec === 0) return null;
  return new MetricsExporter({
    address,
    everySec,
    resource: resourceOf(program.version, bus.node),
    metrics,
    runtime,
    log,
  });
}

/** Sinks of lifecycle events that the configuration names. They connect when their relays start. */
export function sinksOf({ config, program, runtime, log }: SinkContext, store: Pick<Store, "queries">): EventSink[] {
  return [
    ...kafkaSinks(config, store, runtime),
    ...clickHouseSinks(config, runtime),
    ...otlpSinks(config, program.version, log),
  ];
}

function otlpSinks({ otlp: address, events }: Config, version: string, log: Logger): EventSink[] {
  if (address === null || !events.includes("otlp")) return [];
  return [new OtlpSink({ address, resource: resourceOf(version, null), log })];
}

function clickHouseSinks({ clickhouse, events }: Config, runtime: Runtime): EventSink[] {
  return clickhouse === null || !events.includes("clickhouse") ? [] : [new ClickHouseSink(clickhouse, runtime)];
}

function kafkaSinks(config: Config, store: Pick<Store, "queries">, runtime: Runtime): EventSink[] {
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
