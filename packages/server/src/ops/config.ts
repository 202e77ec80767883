import { resolve } from "node:path";
import { combinationFaults } from "./combination-faults.ts";
import { ConfigError, readConfigFile } from "./config-file.ts";
import type { Config, HandlerConfig } from "./config-types.ts";
import {
  advertisedAddress,
  anyOf,
  choice,
  cidrList,
  clickHouseDatabase,
  etcdMembers,
  kafkaBrokers,
  listenAddress,
  logUrl,
  otlpBase,
  otlpHeaderList,
  type Parse,
  schemaName,
  secret,
  signingSecret,
  someOf,
  storeAddress,
  text,
  topicPrefix,
  Unfit,
  wholeNumber,
} from "./config-values.ts";

export { ConfigError } from "./config-file.ts";
export type { Config, HandlerConfig } from "./config-types.ts";

interface Key<T> {
  parse: Parse<T>;
  fallback: string | null;
  /** Purpose of the key, for people. */
  help: string;
}

function key<T>(parse: Parse<T>, fallback: string | null, help: string): Key<T> {
  return { parse, fallback, help };
}

/** Default stop delay in a cluster, in seconds: longer than most load balancers take between two checks. */
const CLUSTER_STOP_DELAY_SEC = 5;

const KEYS = {
  MAINSPRING_HTTP: key(listenAddress, "127.0.0.1:8080", "where the HTTP API listens; port 0 picks a free one"),
  MAINSPRING_GRPC: key(listenAddress, "127.0.0.1:8081", "where workers and other nodes connect"),
  MAINSPRING_DATA_DIR: key(text, "./data", "the folder where the embedded store keeps its data"),
  MAINSPRING_STORE: key(
    storeAddress,
    "embedded",
    "the PostgreSQL (14 to 18) that keeps the truth, or the embedded one",
  ),
  MAINSPRING_STORE_SCHEMA: key(
    schemaName,
    null,
    "the schema of PostgreSQL in which the store is; `mainspring` for a new one, and a store in `public` is left there until `mainspring store move-schema`",
  ),
  MAINSPRING_API_KEY: key(
    secret,
    null,
    "a key by which clients and workers may do everything; without it, and without a key in the store, only loopback is served",
  ),
  MAINSPRING_API_KEY_ALSO: key(
    secret,
    null,
    "a second key that is valid too, so that clients and workers change from one to the other without an outage",
  ),
  MAINSPRING_KEYS_STALE_SEC: key(
    wholeNumber(10, 86_400),
    "900",
    "how many seconds API keys of the store stay good while the store does not answer; then requests with them get 503",
  ),
  MAINSPRING_CLUSTER_SECRET: key(
    secret,
    null,
    "what the nodes of a cluster prove themselves to each other by, the same on all; without it they show each other the API key",
  ),
  MAINSPRING_CLUSTER_SECRET_ALSO: key(
    secret,
    null,
    "a second secret that is valid too, so that nodes change from one to the other without an outage",
  ),
  MAINSPRING_HTTP_PEER_CONNECTIONS: key(
    wholeNumber(1, 12_000),
    "8000",
    "how many of the 12000 HTTP connections one address may hold; behind a proxy, where all clients have its address, set 12000",
  ),
  MAINSPRING_STREAMS_MAX: key(
    wholeNumber(1, 11_000),
    "1000",
    "how many event streams clients may have open at this node; each is one of its 12000 HTTP connections",
  ),
  MAINSPRING_POOLS_MAX: key(
    wholeNumber(1, 1_000_000),
    "10000",
    "how many pools jobs may be submitted to within an hour, at this node; a job for one more is refused",
  ),
  MAINSPRING_SQL_SUBMIT: key(
    choice("on", "off"),
    "on",
    "whether this node takes in what applications submit by mainspring_submit in their own transactions",
  ),
  MAINSPRING_RETENTION_DAYS: key(wholeNumber(1, 36_500), "30", "how many days final executions are kept"),
  MAINSPRING_EVENTS: key(
    anyOf("api", "kafka", "clickhouse", "webhook", "otlp"),
    "",
    "where the events of executions and jobs go, the same on all nodes: api keeps them for GET /v1/events, kafka brings them to the brokers of MAINSPRING_KAFKA, clickhouse to the database of MAINSPRING_CLICKHOUSE, webhook to subscriptions, and otlp makes spans of them for the receiver of MAINSPRING_OTLP",
  ),
  MAINSPRING_EVENTS_KEEP_MIN: key(
    wholeNumber(1, 10_080),
    "60",
    "how many minutes GET /v1/events can go back, the same on all nodes",
  ),
  MAINSPRING_EVENTS_MAX_MB: key(
    wholeNumber(64, 1_000_000),
    "4096",
    "how many MiB of events the store keeps for a sink that is down, the same on all nodes; beyond that the oldest ones go",
  ),
  MAINSPRING_KAFKA: key(
    kafkaBrokers,
    null,
    "the brokers of Kafka, as kafka://host:9092,host:9092; user:password@ before the hosts logs in, and ?tls=on&sasl=SCRAM-SHA-512 says how",
  ),
  MAINSPRING_KAFKA_TOPIC_PREFIX: key(topicPrefix, "ms.", "how the names of topics begin"),
  MAINSPRING_KAFKA_FORMAT: key(
    choice("json", "protobuf"),
    "json",
    "the format of the values of messages, the same on all nodes: CloudEvents in JSON, or mainspring.events.v1.JobEvent in Protobuf with the attributes of CloudEvents as headers",
  ),
  MAINSPRING_KAFKA_TOPICS_BY: key(
    choice("one", "pool"),
    "one",
    "with MAINSPRING_BUS=kafka: one topic for all assignments, or one for each pool",
  ),
  MAINSPRING_CLICKHOUSE: key(clickHouseDatabase, null, "the database in ClickHouse (24.3 or newer) that gets events"),
  MAINSPRING_OTLP: key(
    otlpBase,
    null,
    "the receiver of OpenTelemetry (OTLP over http/protobuf) that gets spans and metrics",
  ),
  MAINSPRING_OTLP_HEADERS: key(otlpHeaderList, "", "headers of the requests to MAINSPRING_OTLP, such as a key"),
  MAINSPRING_OTLP_METRICS_SEC: key(
    wholeNumber(0, 3_600),
    "60",
    "how many seconds lie between two exports of all metrics to MAINSPRING_OTLP; 0: none are exported",
  ),
  MAINSPRING_STOP_DELAY_SEC: key(
    wholeNumber(0, 300),
    null,
    "how many seconds a node that is told to stop goes on serving while /readyz answers 503, so that load balancers leave it first; 5 in a cluster, else 0",
  ),
  MAINSPRING_LOG_LEVEL: key(
    choice("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    "info",
    "what is logged",
  ),
  MAINSPRING_LOG_URL: key(
    logUrl,
    null,
    "where another system shows the log lines of an attempt, the same on all nodes; the server then keeps none itself, and answers with this address",
  ),
  MAINSPRING_BUILTIN_WORKER: key(
    choice("on", "off"),
    "on",
    "whether the server runs the handlers that it comes with by itself",
  ),
  MAINSPRING_HTTP_ALLOW_PRIVATE: key(
    cidrList,
    "",
    "private networks that the handler `http` may connect to all the same",
  ),
  MAINSPRING_WEBHOOK_SECRET: key(
    signingSecret,
    null,
    "signs the webhooks of `onFinish` and the requests of the handler `http` (Standard Webhooks), the same on all nodes; without it no job may have `onFinish`",
  ),
  MAINSPRING_WEBHOOK_SECRET_ALSO: key(
    signingSecret,
    null,
    "a second secret that signs webhooks, too, so that receivers change from one to the other without an outage",
  ),
  MAINSPRING_WEBHOOK_DISABLE_DAYS: key(
    wholeNumber(1, 365),
    "3",
    "after how many days without a delivery a webhook is disabled",
  ),
  MAINSPRING_EXEC: key(choice("on", "off"), "off", "whether the handler `exec` is offered, which runs programs"),
  MAINSPRING_BUS: key(
    choice("memory", "mesh", "kafka"),
    "memory",
    "memory: a server that is alone; mesh: a node of a cluster, with all others that have the same PostgreSQL; kafka: such a node whose assignments and results go over the brokers of MAINSPRING_KAFKA",
  ),
  MAINSPRING_BUS_FALLBACK: key(
    choice("mesh", "none"),
    "mesh",
    "where assignments and results go while Kafka does not answer, with MAINSPRING_BUS=kafka: mesh sends them directly, none lets them wait up to 30 s",
  ),
  MAINSPRING_LEASES: key(
    choice("store", "etcd"),
    "store",
    "what says which nodes of a cluster live, the same on all nodes: the store, or the etcd of MAINSPRING_ETCD",
  ),
  MAINSPRING_ETCD: key(
    etcdMembers,
    null,
    "the members of etcd (3.4 or newer), as http://host:2379,host:2379 or https://…; user:password@ before the hosts logs in, /prefix behind them keeps clusters apart, and ?ca=FILE&cert=FILE&key=FILE names certificates",
  ),
  MAINSPRING_LEADER: key(
    choice("sharded", "one"),
    "sharded",
    "sharded: the nodes of a cluster divide the work; one: the first node decides all of it and the others stand by, as soon as all nodes have this setting",
  ),
  MAINSPRING_ROLES: key(
    someOf("api", "scheduler", "gateway"),
    "api,scheduler,gateway",
    "what this node of a cluster does",
  ),
  MAINSPRING_TZDATA: key(
    text,
    null,
    "newer time zone data: a folder of compiled zones, or a JSON file; the newest of it, the system's and the server's own is taken",
  ),
  MAINSPRING_ADVERTISE: key(
    advertisedAddress,
    null,
    "where other nodes of a cluster reach MAINSPRING_GRPC of this one; by default there, if that is one address",
  ),
};
type KeyName = keyof typeof KEYS;
const KEY_NAMES = Object.keys(KEYS) as KeyName[];
const HANDLER_KEYS = ["MAINSPRING_HTTP_ALLOW_PRIVATE", "MAINSPRING_WEBHOOK_SECRET", "MAINSPRING_EXEC"] as const;

/** Known variables that are not the server's keys, with their purpose. */
export const OTHER_VARIABLES = {
  MAINSPRING_CONFIG: "a JSON file with the keys above; the environment wins",
  MAINSPRING_URL: "where clients and the command reach the HTTP API, as `http://127.0.0.1:8080`",
  MAINSPRING_API_KEY_FILE:
    "a file with the API key of clients, workers and the command, which they read again when it is refused",
  MAINSPRING_GRPC_URL: "where workers connect, as `127.0.0.1:8081`; of a cluster several, with commas",
} as const;

/** Description of a key of the configuration, for people. */
export interface KeyHelp {
  name: string;
  /** Default value; null: none. */
  fallback: string | null;
  help: string;
  /** Allowed values, in words. */
  takes: string;
}

/** All keys, the most important ones first. */
export function describeKeys(): KeyHelp[] {
  return KEY_NAMES.map((name) => {
    const { parse, fallback, help }: Key<unknown> = KEYS[name];
    // Only a key that accepts any text accepts this one.
    const refused = parse("\u0000");
    return {
      name,
      fallback,
      help,
      takes: refused instanceof Unfit ? refused.expected.replace(/^must be /, "") : "any text",
    };
  });
}

type Texts = Readonly<Record<string, string | undefined>>;

/**
 * The configuration from the environment and the JSON file that MAINSPRING_CONFIG names; the environment wins. An empty
 * variable counts as unset.
 * @param nodeVersion version of Node that runs, as 22.18.0. Default: that of this process
 * @throws {ConfigError}
 */
export function loadConfig(env: Texts, nodeVersion = process.versions.node): Config {
  const { values, errors } = readKeys(env, KEY_NAMES);
  errors.push(...combinationFaults(values as Values, nodeVersion));
  if (errors.length > 0) throw new ConfigError(errors.join("\n"));
  return configOf(values as Values, unknownVariables(env));
}

/**
 * The part of the configuration that a worker with the built-in handlers needs, from the same places.
 * @throws {ConfigError}
 */
export function loadHandlerConfig(env: Texts): HandlerConfig {
  const { values, errors } = readKeys(env, HANDLER_KEYS);
  if (errors.length > 0) throw new ConfigError(errors.join("\n"));
  return handlersOf(values as Pick<Values, (typeof HANDLER_KEYS)[number]>);
}

function readKeys(env: Texts, names: readonly KeyName[]): { values: Partial<Values>; errors: string[] } {
  const file = env.MAINSPRING_CONFIG ? readConfigFile(env.MAINSPRING_CONFIG, KEY_NAMES) : {};
  const errors: string[] = [];
  const read = <N extends KeyName>(name: N): Value<N> | null => {
    const given = env[name] || file[name] || KEYS[name].fallback;
    if (given === null) return null;
    const value = KEYS[name].parse(given);
    if (!(value instanceof Unfit)) return value as Value<N>;
    errors.push(`${name} ${value.message}`);
    return null;
  };
  return { values: Object.fromEntries(names.map((name) => [name, read(name)])) as Partial<Values>, errors };
}

type Value<N extends KeyName> = Exclude<ReturnType<(typeof KEYS)[N]["parse"]>, Unfit>;
type Values = { [N in KeyName]: Value<N> };

function configOf(values: Values, warnings: string[]): Config {
  return {
    http: values.MAINSPRING_HTTP,
    grpc: values.MAINSPRING_GRPC,
    dataDir: resolve(values.MAINSPRING_DATA_DIR),
    store: values.MAINSPRING_STORE,
    storeSchema: values.MAINSPRING_STORE_SCHEMA,
    apiKey: values.MAINSPRING_API_KEY,
    apiKeyAlso: values.MAINSPRING_API_KEY_ALSO,
    keysStaleSec: values.MAINSPRING_KEYS_STALE_SEC,
    clusterSecret: values.MAINSPRING_CLUSTER_SECRET,
    clusterSecretAlso: values.MAINSPRING_CLUSTER_SECRET_ALSO,
    httpLimits: { peerConnections: values.MAINSPRING_HTTP_PEER_CONNECTIONS },
    streamsMax: values.MAINSPRING_STREAMS_MAX,
    poolsMax: values.MAINSPRING_POOLS_MAX,
    stopDelaySec: values.MAINSPRING_STOP_DELAY_SEC ?? (values.MAINSPRING_BUS === "memory" ? 0 : CLUSTER_STOP_DELAY_SEC),
    retentionDays: values.MAINSPRING_RETENTION_DAYS,
    events: values.MAINSPRING_EVENTS,
    eventsKeepMin: values.MAINSPRING_EVENTS_KEEP_MIN,
    eventsMaxMb: values.MAINSPRING_EVENTS_MAX_MB,
    kafka: values.MAINSPRING_KAFKA,
    kafkaTopicPrefix: values.MAINSPRING_KAFKA_TOPIC_PREFIX,
    kafkaFormat: values.MAINSPRING_KAFKA_FORMAT,
    clickhouse: values.MAINSPRING_CLICKHOUSE,
    webhookSecrets: [values.MAINSPRING_WEBHOOK_SECRET, values.MAINSPRING_WEBHOOK_SECRET_ALSO].filter(
      (one) => one !== null,
    ),
    webhookDisableDays: values.MAINSPRING_WEBHOOK_DISABLE_DAYS,
    otlp:
      values.MAINSPRING_OTLP === null
        ? null
        : { url: values.MAINSPRING_OTLP, headers: values.MAINSPRING_OTLP_HEADERS ?? {} },
    otlpMetricsSec: values.MAINSPRING_OTLP_METRICS_SEC,
    logUrl: values.MAINSPRING_LOG_URL,
    logLevel: values.MAINSPRING_LOG_LEVEL,
    sqlSubmit: values.MAINSPRING_SQL_SUBMIT === "on",
    builtInWorker: values.MAINSPRING_BUILTIN_WORKER === "on",
    handlers: handlersOf(values),
    bus: values.MAINSPRING_BUS === "memory" ? "memory" : "mesh",
    busKafka:
      values.MAINSPRING_BUS === "kafka"
        ? { topicsBy: values.MAINSPRING_KAFKA_TOPICS_BY, isStrict: values.MAINSPRING_BUS_FALLBACK === "none" }
        : null,
    etcd: values.MAINSPRING_LEASES === "etcd" ? values.MAINSPRING_ETCD : null,
    wantsLeader: values.MAINSPRING_LEADER === "one",
    roles: values.MAINSPRING_ROLES,
    tzdata: values.MAINSPRING_TZDATA,
    advertise: values.MAINSPRING_ADVERTISE,
    warnings,
  };
}

function handlersOf(values: Pick<Values, (typeof HANDLER_KEYS)[number]>): HandlerConfig {
  return {
    httpAllowPrivate: values.MAINSPRING_HTTP_ALLOW_PRIVATE,
    webhookSecret: values.MAINSPRING_WEBHOOK_SECRET,
    exec: values.MAINSPRING_EXEC === "on",
  };
}

function unknownVariables(env: Texts): string[] {
  const known: string[] = [...KEY_NAMES, ...Object.keys(OTHER_VARIABLES)];
  return Object.keys(env)
    .filter((name) => name.startsWith("MAINSPRING_") && !known.includes(name))
    .map((name) => `${name} is no key of the configuration: the keys are ${KEY_NAMES.join(", ")}`);
}
