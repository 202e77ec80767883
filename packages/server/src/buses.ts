import type { Logger } from "pino";
import { busKeys } from "./adapters/kafka-bus/bus-envelope.ts";
import { KafkaBus } from "./adapters/kafka-bus/kafka-bus.ts";
import { memoryBus } from "./adapters/memory/memory-bus.ts";
import { MeshBus } from "./adapters/mesh/mesh-bus.ts";
import type { MeshTls } from "./adapters/mesh/mesh-tls.ts";
import { secretsOf } from "./cluster-secret.ts";
import { alikeSettings } from "./ops/alike-settings.ts";
import { ConfigError } from "./ops/config-file.ts";
import type { Config } from "./ops/config-types.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import type { Bus } from "./ports/bus.ts";
import type { Metrics, Readings } from "./ports/metrics.ts";
import type { Runtime } from "./ports/runtime.ts";
import { settingsCheck } from "./security/settings-keys.ts";

interface OpenedBus {
  /** Bus of the node's parts. */
  bus: Bus;
  /** The mesh beneath it; null: the server is alone. */
  mesh: MeshBus | null;
  /** The bus on Kafka, which is not open yet; null: there is none. */
  kafka: KafkaBus | null;
}

/** Bus that the configuration names. @param own feature level of the node, and TLS of its links */
export function openBus(
  config: Config,
  { level, tls }: { level: number; tls: MeshTls },
  runtime: Runtime,
  log: Logger,
): OpenedBus {
  const node = runtime.uuid();
  if (config.bus === "memory") return { bus: memoryBus(node, runtime), mesh: null, kafka: null };
  const { apiKey, apiKeyAlso, kafka: brokers, busKafka, kafkaTopicPrefix: prefix } = config;
  const secrets = secretsOf(config);
  const shown = { apiKey, secrets, tls, isAuthorized: settingsCheck(config) };
  const mesh = new MeshBus({ node, level, ...shown, alike: alikeSettings(config), runtime, log });
  if (busKafka === null || brokers === null) return { bus: mesh, mesh, kafka: null };
  const keys = busKeys(
    secrets,
    [apiKey, apiKeyAlso].filter((key) => key !== null),
  );
  const kafka = new KafkaBus({ mesh, kafka: brokers, prefix, ...busKafka, keys, runtime, log });
  return { bus: kafka, mesh, kafka };
}

/**
 * Opens the topics of the bus. A Kafka that does not answer stops no start.
 * @param kafka null: nothing is done
 * @throws {ConfigError} Kafka refuses the login or the topics
 */
export async function openKafka(
  kafka: KafkaBus | null,
  life: Pick<Lifecycle, "started">,
  metrics: Pick<Metrics, "watch">,
): Promise<void> {
  if (kafka === null) return;
  life.started("bus on Kafka", async () => kafka.close());
  metrics.watch(() => readingsOf(kafka));
  const refusal = await kafka.open();
  if (refusal !== null) throw new ConfigError(`MAINSPRING_BUS=kafka: ${refusal}`);
}

/** Figures of the bus on Kafka. */
function readingsOf(kafka: KafkaBus): Readings {
  const { isUp, kafka: written, mesh, dropped, refused } = kafka.load();
  return {
    kafkaBusUp: isUp ? 1 : 0,
    kafkaBusMessages: new Map([
      ["KAFKA", written],
      ["MESH", mesh],
      ["DROPPED", dropped],
    ]),
    kafkaBusRefused: refused,
  };
}
