import { clickHouseAddress, describeKeys, migrateClickHouse } from "../../packages/server/src/index.ts";
import { startClickHouse } from "../services/start-clickhouse.ts";
import { startEtcd } from "../services/start-etcd.ts";
import { startKafka } from "../services/start-kafka.ts";
import { startOtlpReceiver } from "../services/start-otlp-receiver.ts";
import { startPostgres } from "../services/start-postgres.ts";
import { startRedis } from "../services/start-redis.ts";
import { startRedisPair } from "../services/start-redis-pair.ts";

/** Settings of a node by their names. `{space}` in a value stands for the name of the cluster. */
export type Settings = Readonly<Record<string, string>>;

/** A server that runs for a profile. */
export interface RunningServer {
  /** Address for people, without a name of a cluster. */
  address: string;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/** A kind of server, as one entry of the table. */
export interface ServerEntry {
  /** Name for people. */
  title: string;
  /** Setting without which this version of Mainspring cannot use the server. */
  setting: string;
  start(): Promise<RunningServer>;
  /** Settings of each node for the server at an address. `{space}` keeps clusters on the same server apart. */
  settings(address: string): Settings;
}

export type ServerName = "postgresql" | "redis-store" | "redis" | "etcd" | "kafka" | "clickhouse" | "otlp";

export const SERVERS: Readonly<Record<ServerName, ServerEntry>> = {
  postgresql: {
    title: "PostgreSQL",
    setting: "MAINSPRING_STORE",
    async start() {
      const { url, stop } = await startPostgres({ version: "system" });
      return { address: url, stop };
    },
    settings: (address) => ({ MAINSPRING_STORE: address, MAINSPRING_STORE_SCHEMA: "{space}" }),
  },
  "redis-store": {
    title: "Redis (with a replica)",
    setting: "MAINSPRING_STORE",
    async start() {
      const { primary, stop } = await startRedisPair();
      return { address: primary.url, stop };
    },
    settings: (address) => ({ MAINSPRING_STORE: `${address}?prefix={space}`, MAINSPRING_REDIS_REPLICAS: "1" }),
  },
  redis: {
    title: "Redis",
    setting: "MAINSPRING_REDIS",
    async start() {
      const { url, stop } = await startRedis();
      return { address: url, stop };
    },
    settings: (address) => ({ MAINSPRING_REDIS: `${address}?prefix={space}` }),
  },
  etcd: {
    title: "etcd (3 members)",
    setting: "MAINSPRING_ETCD",
    async start() {
      const { url, stop } = await startEtcd();
      return { address: url.replace(/\/[^/]*$/, ""), stop };
    },
    settings: (address) => ({ MAINSPRING_LEASES: "etcd", MAINSPRING_ETCD: `${address}/{space}` }),
  },
  kafka: {
    title: "Kafka",
    setting: "MAINSPRING_KAFKA",
    async start() {
      const { url, stop } = await startKafka();
      return { address: url, stop };
    },
    settings: (address) => ({
      ...{ MAINSPRING_KAFKA: address, MAINSPRING_BUS: "kafka", MAINSPRING_KAFKA_TOPIC_PREFIX: "{space}." },
    }),
  },
  clickhouse: {
    title: "ClickHouse (its engine)",
    setting: "MAINSPRING_CLICKHOUSE",
    async start() {
      const { url, stop } = await startClickHouse();
      const database = `${url}/mainspring`;
      const address = clickHouseAddress(database);
      if (address === null) throw new Error(`${database} is no address of ClickHouse`);
      await migrateClickHouse(address).catch(async (cause: unknown) => {
        await stop();
        throw cause;
      });
      return { address: database, stop };
    },
    settings: (address) => ({ MAINSPRING_CLICKHOUSE: address }),
  },
  otlp: {
    title: "Receiver of OpenTelemetry",
    setting: "MAINSPRING_OTLP",
    async start() {
      const { url, stop } = await startOtlpReceiver();
      return { address: url, stop };
    },
    settings: (address) => ({ MAINSPRING_OTLP: address }),
  },
};

/** Whether this version of Mainspring has a setting. */
export function hasSetting(name: string): boolean {
  return describeKeys().some((key) => key.name === name);
}

/** Settings of a cluster with this name, which may have lower-case letters, digits and `_`. */
export function settingsIn(space: string, settings: Settings): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, value.replaceAll("{space}", space)]),
  );
}
