import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { ClickHouseSink } from "./adapters/clickhouse/clickhouse-sink.ts";
import { openKafkaLink } from "./adapters/kafka/kafka-link.ts";
import { KafkaSink } from "./adapters/kafka/kafka-sink.ts";
import { MetricsExporter } from "./adapters/otlp/metrics-exporter.ts";
import { OtlpSink } from "./adapters/otlp/otlp-sink.ts";
import { resourceOf } from "./adapters/otlp/resource.ts";
import { cloudEvent } from "./api/events/cloud-event.ts";
import type { WebhookRules } from "./api/webhooks/webhook-rules.ts";
import { AddressPolicy } from "./handlers/http/address-policy.ts";
import { webhookPost, webhookUrlFault } from "./handlers/http/webhook-post.ts";
import type { Config } from "./ops/config.ts";
import type { Bus } from "./ports/bus.ts";
import type { EventSink } from "./ports/event-sink.ts";
import type { ExportedMetrics } from "./ports/metrics.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { Store } from "./ports/store.ts";
import { SubscriptionSink } from "./relay/webhooks/subscription-sink.ts";
import { WebhookSender, type WebhookSenderDependencies } from "./relay/webhooks/webhook-sender.ts";

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

/** Sink that tells subscriptions of events. @param added called when there are new deliveries */
export function subscriptionSinks(
  { events }: Config,
  { webhooks: store }: Pick<Store, "webhooks">,
  runtime: Runtime,
  added: () => void,
): EventSink[] {
  return events.includes("webhook") ? [new SubscriptionSink({ store, runtime, added })] : [];
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

/** Sender of webhooks for the shards that a node owns. */
export function webhookSender(
  { config, runtime, log }: { config: Config; runtime: Runtime; log: Logger },
  { webhooks: store }: Pick<Store, "webhooks">,
  owned: WebhookSenderDependencies["owned"],
): WebhookSender {
  const post = webhookPost({ runtime, allowPrivate: config.handlers.httpAllowPrivate });
  const disableAfterMs = config.webhookDisableDays * 86_400_000;
  const { webhookSecrets: secrets } = config;
  return new WebhookSender({ store, post, owned, secrets, disableAfterMs, encode: cloudEvent, runtime, log });
}

/** Number of random bytes in a new secret: Standard Webhooks takes 24 to 64. */
const SECRET_BYTES = 32;

/** Rules of webhooks for the api. */
export function webhookRules({ handlers, webhookSecrets, events }: Config): WebhookRules {
  const policy = new AddressPolicy(handlers.httpAllowPrivate);
  return {
    urlFault: (url) => webhookUrlFault(url, policy),
    signsEnds: webhookSecrets.length > 0,
    tellsSubscriptions: events.includes("webhook"),
    newSecret: () => `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`,
  };
}
