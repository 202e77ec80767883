import type { Role } from "../ports/bus.ts";
import type { ClickHouseAddress } from "../ports/clickhouse-address.ts";
import type { EtcdAddress } from "../ports/etcd-address.ts";
import type { KafkaAddress } from "../ports/kafka-address.ts";
import type { OtlpAddress } from "../ports/otlp-address.ts";
import type { RedisAddress } from "../ports/redis-address.ts";
import type { TokenConfig } from "./config-tokens.ts";
import type { ListenAddress } from "./config-values.ts";

export interface AuditConfig {
  /** File of the private key that signs anchors; null: nothing signs them. */
  keyFile: string | null;
  /** Days for which records are kept. */
  days: number;
  /** Whether requests that submit jobs have records. */
  submits: "off" | "batch";
}

export interface Config {
  /** Address on which the HTTP API listens. */
  http: ListenAddress;
  /** Address to which workers connect. */
  grpc: ListenAddress;
  /** Absolute path of the data folder. */
  dataDir: string;
  /** Store: "embedded", or the URL of a PostgreSQL or a Redis, which may contain a password. */
  store: string;
  /** Rules of a store on Redis; null: the store is a PostgreSQL. */
  redisStore: RedisStoreConfig | null;
  /** Schema of the store in PostgreSQL; null: the one in which the store is found, and `mainspring` for a new store. */
  storeSchema: string | null;
  /** API key; null: only clients on this machine may use the server, without a key. */
  apiKey: string | null;
  /** Second valid API key, for the time of a key change; null: none. */
  apiKeyAlso: string | null;
  /** Time in seconds for which API keys of the store stay good while the store does not answer. */
  keysStaleSec: number;
  /** Issuer of tokens, and the rules for them; null: there is none. */
  tokens: TokenConfig | null;
  audit: AuditConfig;
  /** Secret by which nodes of a cluster prove their identity to each other; null: they use the API key. */
  clusterSecret: string | null;
  /** Second valid cluster secret, for the time of a change; null: none. */
  clusterSecretAlso: string | null;
  tls: TlsFiles;
  httpLimits: HttpBounds;
  /** Largest number of event streams at once. */
  streamsMax: number;
  /** Largest number of pools that may get jobs at this node within an hour. */
  poolsMax: number;
  /** Time for which a node that is told to stop still serves while /readyz answers 503, in seconds. */
  stopDelaySec: number;
  /** Retention of final executions, in days. */
  retentionDays: number;
  /** Largest number of final executions that a Redis that is the store keeps; null: the store is another one. */
  retentionMax: number | null;
  /** Receivers of lifecycle events; empty: the server writes no events. */
  events: readonly EventReceiver[];
  /** Time for which the store keeps events for GET /v1/events, in minutes. */
  eventsKeepMin: number;
  /** Space for events that sinks do not have yet, in MiB. */
  eventsMaxMb: number;
  /** Brokers of the sink kafka, of the bus and of the log of requests; null: none of them uses Kafka. */
  kafka: KafkaAddress | null;
  /** Beginning of the names of topics. */
  kafkaTopicPrefix: string;
  /** Format of the values of messages. */
  kafkaFormat: "json" | "protobuf";
  /** Database of the sink clickhouse; null: there is no such sink. */
  clickhouse: ClickHouseAddress | null;
  /** Secrets that sign the webhooks of ends, the newest first; empty: no job may have `onFinish`. */
  webhookSecrets: readonly string[];
  /** Time without a delivery after which a webhook is disabled, in days. */
  webhookDisableDays: number;
  /** Receiver of the sink otlp and of metrics; null: there is none. */
  otlp: OtlpAddress | null;
  /** Interval of exports of metrics to the receiver, in seconds; 0: it gets none. */
  otlpMetricsSec: number;
  /** Template of the address at which another system shows the log lines of an attempt; null: the store keeps them. */
  logUrl: string | null;
  logLevel: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  /** Whether the server runs a worker for its built-in handlers. */
  builtInWorker: boolean;
  /** Whether the node takes in requests that applications write in transactions of their own. */
  sqlSubmit: boolean;
  /** Way of submitted jobs: into the store, through a topic of Kafka, or through it while the store cannot be reached. */
  ingest: "direct" | "fallback" | "kafka";
  handlers: HandlerConfig;
  /** memory: this server is the only one. mesh: it is a node of the cluster that its store belongs to. */
  bus: "memory" | "mesh";
  /** Servers that keep the leases of the nodes of a cluster; null: the store keeps them. */
  etcd: EtcdAddress | null;
  /** Whether one node owns all shards, as soon as all nodes of the cluster want that. */
  wantsLeader: boolean;
  /** Transport of the assignments and results of a node of a cluster over Kafka; null: they go over the mesh. */
  busKafka: { topicsBy: "one" | "pool"; isStrict: boolean } | null;
  /** Redis beside the store; null: there is none. */
  redis: RedisAddress | null;
  /** Whether the scheduler asks Redis for what falls due. */
  redisWindow: boolean;
  roles: readonly Role[];
  /** Folder of compiled zones, or JSON file with time zone data; null: the data of the server or the system. */
  tzdata: string | null;
  /** Address where others reach this node; null: the one on which it listens. */
  advertise: ListenAddress | null;
  /** Warnings about the configuration, to be logged once there is a log. */
  warnings: readonly string[];
}

/** Redis that is the store, and its durability. */
export interface RedisStoreConfig {
  address: RedisAddress;
  /** Number of replicas that must have a write before it is answered. */
  replicas: number;
  /** Whether Redis may have another `appendfsync` than `always`, so that a crash loses accepted jobs. */
  isRelaxed: boolean;
}

/** Paths of the files of certificates, in PEM; null: not set. */
export interface TlsFiles {
  cert: string | null;
  key: string | null;
  /** Authorities of other nodes. */
  ca: string | null;
  /** Certificate for links to other nodes, if it is not the one of the server. */
  meshCert: string | null;
  meshKey: string | null;
  /** Whether a proxy in front of the server speaks TLS with clients and workers. */
  isProxied: boolean;
  /** Whether nodes may speak to each other without TLS beyond this machine. */
  isMeshPlain: boolean;
}

/** Limits of connections to the HTTP API. */
interface HttpBounds {
  /** Largest number of connections from one address at once. */
  peerConnections: number;
}

/** Permissions of the built-in handlers, in a server and in `mainspring worker`. */
export interface HandlerConfig {
  /** CIDRs outside the public internet that the handler `http` may reach. */
  httpAllowPrivate: readonly string[];
  /** Secret with which `http` signs requests: `whsec_` and base64; null: no signature. */
  webhookSecret: string | null;
  /** Whether the handler `exec` is offered. */
  exec: boolean;
}

/** A receiver of lifecycle events; all but `api` are sinks. */
type EventReceiver = "api" | "kafka" | "clickhouse" | "webhook" | "otlp";
