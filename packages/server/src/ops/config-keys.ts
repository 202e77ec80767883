import { TOKEN_ALGORITHMS, TOKEN_LIFE_MAX_SEC } from "../ports/issuer.ts";
import { DEFAULT_ROLES, issuerUrl, shortText, tokenRoles } from "./config-tokens.ts";
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
  redisServer,
  schemaName,
  secret,
  signingSecret,
  someOf,
  storeAddress,
  text,
  topicPrefix,
  wholeNumber,
} from "./config-values.ts";

/** A key of the configuration. */
export interface Key<T> {
  parse: Parse<T>;
  fallback: string | null;
  /** Purpose of the key, for people. */
  help: string;
  /** Default where a Redis is the store. */
  onRedis: string | null;
}

function key<T>(parse: Parse<T>, fallback: string | null, help: string, onRedis = fallback): Key<T> {
  return { parse, fallback, help, onRedis };
}

/** All keys, the most important ones first. */
export const KEYS = {
  MAINSPRING_HTTP: key(listenAddress, "127.0.0.1:8080", "where the HTTP API listens; port 0 picks a free one"),
  MAINSPRING_GRPC: key(listenAddress, "127.0.0.1:8081", "where workers and other nodes connect"),
  MAINSPRING_DATA_DIR: key(text, "./data", "the folder where the embedded store keeps its data"),
  MAINSPRING_STORE: key(
    storeAddress,
    "embedded",
    "the PostgreSQL (14 to 18) that keeps the truth, or the embedded one; or a Redis (7.0 or newer), as redis://host:6379 or rediss://…, in the form of MAINSPRING_REDIS",
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
  MAINSPRING_OIDC_ISSUER: key(
    issuerUrl,
    null,
    "the issuer (OpenID Connect) whose access tokens clients and workers may use besides API keys, as https://login.example/realm, exactly as its tokens name it in `iss`",
  ),
  MAINSPRING_OIDC_AUDIENCE: key(
    shortText,
    null,
    "what the claim `aud` of a token must be or contain, as mainspring, so that tokens for other services are refused",
  ),
  MAINSPRING_OIDC_ALGORITHMS: key(
    someOf(...TOKEN_ALGORITHMS),
    "RS256,PS256,ES256,EdDSA",
    "the algorithms that tokens may be signed by",
  ),
  MAINSPRING_OIDC_LIFE_SEC: key(
    wholeNumber(60, TOKEN_LIFE_MAX_SEC),
    "3600",
    "how many seconds there may be between `iat` and `exp` of a token, which cannot be revoked",
  ),
  MAINSPRING_OIDC_SKEW_SEC: key(
    wholeNumber(0, 300),
    "30",
    "how many seconds the clocks of the issuer and of the store may differ",
  ),
  MAINSPRING_OIDC_REFRESH_SEC: key(
    wholeNumber(1, 300),
    "10",
    "how many seconds pass at least between two questions for the keys of the issuer because a token names an unknown one",
  ),
  MAINSPRING_OIDC_STALE_SEC: key(
    wholeNumber(10, 86_400),
    "3600",
    "how many seconds the keys of the issuer stay good while it does not answer; then requests with tokens get 503",
  ),
  MAINSPRING_OIDC_ROLES_CLAIM: key(
    shortText,
    "scope",
    "the claim that gives a token its rights, a list or a text with spaces; with dots a claim within others, as realm_access.roles",
  ),
  MAINSPRING_OIDC_ROLES: key(
    tokenRoles,
    DEFAULT_ROLES,
    "which rights the values of that claim give: kinds of API keys, or scopes with + between them, as batch=jobs:submit+jobs:read",
  ),
  MAINSPRING_OIDC_TENANT_CLAIM: key(
    shortText,
    null,
    "the claim that names the tenant of a token; without this setting, every token is of the tenant `default`",
  ),
  MAINSPRING_OIDC_POOLS_CLAIM: key(
    shortText,
    "mainspring_pools",
    "the claim that names the pools that a worker with the token may serve, in which * stands for any characters; a token without it serves every pool",
  ),
  MAINSPRING_AUDIT_KEY: key(
    text,
    null,
    "the file with an Ed25519 private key in PEM, which signs the anchors of the audit log; the same on all nodes",
  ),
  MAINSPRING_AUDIT_DAYS: key(
    wholeNumber(1, 36_500),
    "400",
    "how many days the audit log is kept; it is removed by whole months",
    "30",
  ),
  MAINSPRING_AUDIT_SUBMITS: key(
    choice("off", "batch"),
    "off",
    "batch: each request that submits jobs has a record in the audit log, too",
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
  MAINSPRING_TLS_CERT: key(
    text,
    null,
    "the file with the certificate of this server in PEM, and those between it and its authority: MAINSPRING_HTTP and MAINSPRING_GRPC then speak TLS alone",
  ),
  MAINSPRING_TLS_KEY: key(text, null, "the file with the private key of MAINSPRING_TLS_CERT in PEM"),
  MAINSPRING_TLS_CA: key(
    text,
    null,
    "the file with the authorities in PEM that the certificates of other nodes and of workers come from; without it nodes trust those of the system, and no worker proves itself",
  ),
  MAINSPRING_MESH_CERT: key(
    text,
    null,
    "the file with the certificate in PEM by which this node proves itself to others, if that is not MAINSPRING_TLS_CERT",
  ),
  MAINSPRING_MESH_KEY: key(text, null, "the file with the private key of MAINSPRING_MESH_CERT in PEM"),
  MAINSPRING_MESH_PLAINTEXT: key(
    choice("on", "off"),
    "off",
    "on: the nodes of a cluster may speak to each other without TLS on addresses that other machines reach",
  ),
  MAINSPRING_TLS: key(
    choice("files", "proxy"),
    "files",
    "files: the server speaks TLS if MAINSPRING_TLS_CERT is set; proxy: a proxy in front of it speaks TLS with clients and workers",
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
    "off",
  ),
  MAINSPRING_INGEST: key(
    choice("direct", "fallback", "kafka"),
    "direct",
    "which way jobs come in: direct writes them into the store before the answer 201; kafka writes them into a topic of MAINSPRING_KAFKA before the answer 202, and the store gets them from there; fallback does the latter only while the store cannot be reached",
  ),
  MAINSPRING_RETENTION_DAYS: key(wholeNumber(1, 36_500), "30", "how many days final executions are kept", "1"),
  MAINSPRING_RETENTION_MAX: key(
    wholeNumber(1_000, 100_000_000),
    null,
    "how many final executions a Redis that is the store keeps at most, dead letters apart; beyond that the oldest ones go",
    "2000000",
  ),
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
    "256",
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
    "memory: a server that is alone; mesh: a node of a cluster, with all others that have the same store; kafka: such a node whose assignments and results go over the brokers of MAINSPRING_KAFKA",
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
  MAINSPRING_REDIS: key(
    redisServer,
    null,
    "a Redis (6.2 or newer) beside the PostgreSQL, the same for all nodes, as redis://host:6379 or rediss://…; user:password@ before the host logs in, and ?prefix=NAME keeps clusters apart: it shows the workers of a gateway that is gone, and takes cancellations while the store is away",
  ),
  MAINSPRING_REDIS_WINDOW: key(
    choice("on", "off"),
    "off",
    "whether the scheduler asks the Redis of MAINSPRING_REDIS for what falls due, and the PostgreSQL twice a minute",
  ),
  MAINSPRING_REDIS_REPLICAS: key(
    wholeNumber(0, 100),
    "0",
    "how many replicas of the Redis of MAINSPRING_STORE must have a change before it is answered, the same on all nodes",
  ),
  MAINSPRING_REDIS_DURABILITY: key(
    choice("always", "relaxed"),
    "always",
    "always: the Redis of MAINSPRING_STORE must have appendfsync always; relaxed: it may have another value, and then loses accepted jobs in a crash; the same on all nodes",
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
