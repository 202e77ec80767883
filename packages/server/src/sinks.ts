import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { ClickHouseSink } from "./adapters/clickhouse/clickhouse-sink.ts";
import { jsonEncoding } from "./adapters/kafka/json-encoding.ts";
import { openKafkaLink } from "./adapters/kafka/kafka-link.ts";
import { KafkaSink } from "./adapters/kafka/kafka-sink.ts";
import { protobufEncoding } from "./adapters/kafka/protobuf-encoding.ts";
import { MetricsExporter } from "./adapters/otlp/metrics-exporter.ts";
import { OtlpSink } from "./adapters/otlp/otlp-sink.ts";
import { resourceOf } from "./adapters/otlp/resource.ts";
import { cloudEvent, shownEvent } from "./api/events/cloud-event.ts";
import type { WebhookRules } from "./api/webhooks/webhook-rules.ts";
import { AddressPolicy } from "./handlers/http/address-policy.ts";
import { webhookPost, webhookUrlFault } from "./handlers/http/webhook-post.ts";
import type { Config } from "./ops/config.ts";
import type { Bus } from "./ports/bus.ts";
import type { EventSink } from "./ports/event-sink.ts";
import type { ExportedMetrics, Metrics } from "./ports/metrics.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { Store } from "./ports/store.ts";
import { Relays, type RelaysDependencies } from "./relay/relays.ts";
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

interface OutletsContext extends SinkContext {
  store: RelaysDependencies["store"] & Pick<Store, "queries" | "webhooks">;
  metrics: Pick<Metrics, "watch">;
  owned: WebhookSenderDependencies["owned"] & RelaysDependencies["owned"];
}

/** Parts of a node that bring the events and ends of its shards to other systems. */
export interface Outlets {
  start(): void;
  stop(): Promise<void>;
  /** Called when commits with events are durable. */
  eventsWritten(): void;
  /** Called when commits with deliveries of webhooks are durable. */
  readonly deliveriesWritten: () => void;
}

/** Outlets that the configuration names. They connect when they start. */
export function outletsOf(context: OutletsContext): Outlets {
  const { config, store, metrics, owned } = context;
  const webhooks = webhookSender(context, store, owned);
  const sinks = sinksOf(context, webhooks.wake);
  const relays = new Relays({ ...context, sinks, maxBytes: config.eventsMaxMb * 1024 * 1024 });
  metrics.watch(() => (sinks.length === 0 ? {} : relays.readings()));
  metrics.watch(() => webhooks.readings());
  return {
    start() {
      webhooks.start();
      if (sinks.length > 0) relays.start();
    },
    async stop() {
      await relays.stop();
      await webhooks.stop();
    },
    eventsWritten: () => relays.wake(),
    deliveriesWritten: webhooks.wake,
  };
}

/** @param added called when there are new deliveries of webhooks */
function sinksOf({ config, program, runtime, log, store }: OutletsContext, added: () => void): EventSink[] {
  return [
    ...kafkaSinks(config, store, runtime),
    ...clickHouseSinks(config, runtime),
    ...otlpSinks(config, program.version, log),
    ...(config.events.includes("webhook") ? [new SubscriptionSink({ store: store.webhooks, runtime, added })] : []),
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
  const encoding = config.kafkaFormat === "protobuf" ? protobufEncoding : jsonEncoding(cloudEvent);
  return [new KafkaSink({ link: () => openKafkaLink(kafka, "mainspring", runtime), prefix, encoding, details })];
}

/** Sender of webhooks for the shards that a node owns. */
function webhookSender(
  { config, runtime, log }: { config: Config; runtime: Runtime; log: Logger },
  { webhooks: store }: Pick<Store, "webhooks">,
  owned: WebhookSenderDependencies["owned"],
): WebhookSender {
  const post = webhookPost({ runtime, allowPrivate: config.handlers.httpAllowPrivate });
  const disableAfterMs = config.webhookDisableDays * 86_400_000;
  const { webhookSecrets: secrets } = config;
  return new WebhookSender({ store, post, owned, secrets, disableAfterMs, encode: shownEvent, runtime, log });
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
