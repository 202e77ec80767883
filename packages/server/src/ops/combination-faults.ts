import type { Config } from "./config-types.ts";
import { isLoopback, isRedisUrl, isWildcard, type ListenAddress } from "./config-values.ts";

/** Values that may not fit each other; null: not set, or wrong by itself. */
interface Combined {
  MAINSPRING_HTTP: ListenAddress | null;
  MAINSPRING_GRPC: ListenAddress | null;
  MAINSPRING_ADVERTISE: ListenAddress | null;
  MAINSPRING_BUS: "memory" | "mesh" | "kafka" | null;
  MAINSPRING_BUS_FALLBACK: "mesh" | "none" | null;
  MAINSPRING_KAFKA_TOPICS_BY: "one" | "pool" | null;
  MAINSPRING_LEASES: "store" | "etcd" | null;
  MAINSPRING_ETCD: unknown;
  MAINSPRING_LEADER: "sharded" | "one" | null;
  MAINSPRING_ROLES: readonly string[] | null;
  MAINSPRING_STORE: string | null;
  MAINSPRING_API_KEY: string | null;
  MAINSPRING_API_KEY_ALSO: string | null;
  MAINSPRING_CLUSTER_SECRET: string | null;
  MAINSPRING_CLUSTER_SECRET_ALSO: string | null;
  MAINSPRING_OIDC_ISSUER: string | null;
  MAINSPRING_OIDC_AUDIENCE: string | null;
  MAINSPRING_WEBHOOK_SECRET: string | null;
  MAINSPRING_WEBHOOK_SECRET_ALSO: string | null;
  MAINSPRING_TLS: "files" | "proxy" | null;
  MAINSPRING_TLS_CERT: string | null;
  MAINSPRING_TLS_KEY: string | null;
  MAINSPRING_MESH_CERT: string | null;
  MAINSPRING_MESH_KEY: string | null;
  MAINSPRING_EVENTS: readonly string[] | null;
  MAINSPRING_INGEST: "direct" | "fallback" | "kafka" | null;
  MAINSPRING_KAFKA: unknown;
  MAINSPRING_CLICKHOUSE: unknown;
  MAINSPRING_OTLP: unknown;
  MAINSPRING_REDIS: unknown;
  MAINSPRING_REDIS_WINDOW: "on" | "off" | null;
  MAINSPRING_REDIS_REPLICAS: number | null;
  MAINSPRING_RETENTION_MAX: number | null;
  MAINSPRING_REDIS_DURABILITY: "always" | "relaxed" | null;
  MAINSPRING_STORE_SCHEMA: string | null;
  MAINSPRING_SQL_SUBMIT: "on" | "off" | null;
}

/**
 * Faults of values of the configuration that are valid alone but not together, for people.
 * @param nodeVersion version of Node that runs, as 22.18.0
 */
export function combinationFaults(values: Combined, nodeVersion: string): string[] {
  return [
    ...[
      ...openMeshes(values),
      ...misfits(values),
      ...redisFaults(values),
      ...lonelySecrets(values),
      ...lonelyCertificates(values),
      ...lonelyIssuer(values),
      ...busFaults(values),
      ...ingestFaults(values),
      ...missingSystems(values),
    ],
    ...oldNode(values, nodeVersion),
  ];
}

/**
 * Faults of a server whose store has no key. Without a key, every program that reaches an address may run jobs, so only this
 * machine may reach it.
 */
export function exposures({
  apiKey,
  tokens,
  http,
  grpc,
}: Pick<Config, "apiKey" | "tokens" | "http" | "grpc">): string[] {
  if (apiKey !== null || tokens !== null) return [];
  const beyond = [["MAINSPRING_HTTP", http] as const, ["MAINSPRING_GRPC", grpc] as const];
  return beyond
    .filter(([, address]) => !isLoopback(address))
    .map(
      ([name]) =>
        `${name} must be a loopback address such as 127.0.0.1 while MAINSPRING_API_KEY is not set and the store has no key: \`mainspring keys create --kind operator --on-store\` makes one`,
    );
}

/** Fault of a node whose mesh every program could join. Keys of the store do not open the mesh. */
function openMeshes(values: Combined): string[] {
  const { MAINSPRING_BUS: bus, MAINSPRING_GRPC: grpc } = values;
  const isCluster = bus === "mesh" || bus === "kafka";
  const hasSecret = values.MAINSPRING_API_KEY !== null || values.MAINSPRING_CLUSTER_SECRET !== null;
  if (!isCluster || hasSecret || grpc === null || isLoopback(grpc)) return [];
  return [
    "MAINSPRING_CLUSTER_SECRET must be set where MAINSPRING_GRPC is not a loopback address and MAINSPRING_API_KEY is not set: other nodes prove themselves by it",
  ];
}

/** Faults of values that are valid alone but not together. */
function misfits(values: Combined): string[] {
  const {
    MAINSPRING_BUS: bus,
    MAINSPRING_ROLES: roles,
    MAINSPRING_ADVERTISE: advertise,
    MAINSPRING_GRPC: grpc,
  } = values;
  const isCluster = bus === "mesh" || bus === "kafka";
  const errors: string[] = [];
  if (bus === "memory" && roles !== null && roles.length < 3) {
    errors.push(
      "MAINSPRING_ROLES must be api,scheduler,gateway: a server that is alone does it all (MAINSPRING_BUS=mesh makes it a node of a cluster)",
    );
  }
  if (bus === "memory" && values.MAINSPRING_LEASES === "etcd") {
    errors.push(
      "MAINSPRING_LEASES must be store where MAINSPRING_BUS is memory: a server that is alone has no other nodes to know of (MAINSPRING_BUS=mesh makes it a node of a cluster)",
    );
  }
  if (bus === "memory" && values.MAINSPRING_LEADER === "one") {
    errors.push(
      "MAINSPRING_LEADER must be sharded where MAINSPRING_BUS is memory: a server that is alone does all work anyway (MAINSPRING_BUS=mesh makes it a node of a cluster)",
    );
  }
  if (isCluster && values.MAINSPRING_STORE === "embedded") {
    errors.push(
      `MAINSPRING_STORE must be a URL such as postgres://user:password@host:5432/database or redis://host:6379 that all nodes have in common, where MAINSPRING_BUS is ${bus}`,
    );
  }
  if (isCluster && advertise === null && grpc !== null && isWildcard(grpc)) {
    errors.push(
      "MAINSPRING_ADVERTISE must be set, as 10.0.0.5:8081: MAINSPRING_GRPC listens on every address, and other nodes need one",
    );
  }
  if (isCluster && advertise !== null && grpc !== null && isLoopback(advertise) && !isLoopback(grpc)) {
    errors.push(
      "MAINSPRING_ADVERTISE must be an address of this machine, as 10.0.0.5:8081: a loopback address leads every other machine to itself, and MAINSPRING_GRPC is not of the loopback",
    );
  }
  return errors;
}

/** Faults of settings of a Redis, which is the store, or beside it. */
function redisFaults(values: Combined): string[] {
  const { MAINSPRING_STORE: store, MAINSPRING_REDIS: beside } = values;
  if (store !== null && isRedisUrl(store)) return misfitsOnRedis(values);
  const wrong: (readonly [boolean, string])[] = [
    [
      beside !== null && store === "embedded",
      "MAINSPRING_REDIS must not be set where MAINSPRING_STORE is embedded: what it adds is for servers whose PostgreSQL is another process than they are",
    ],
    [
      beside === null && values.MAINSPRING_REDIS_WINDOW === "on",
      "MAINSPRING_REDIS must be set, as redis://host:6379, where MAINSPRING_REDIS_WINDOW is on",
    ],
    [
      store !== null && (values.MAINSPRING_REDIS_REPLICAS ?? 0) > 0,
      "MAINSPRING_REDIS_REPLICAS must be 0 where MAINSPRING_STORE is no redis:// address: it counts the replicas of a Redis that is the store",
    ],
    [
      store !== null && values.MAINSPRING_RETENTION_MAX !== null,
      "MAINSPRING_RETENTION_MAX must not be set where MAINSPRING_STORE is no redis:// address: a PostgreSQL keeps final executions for MAINSPRING_RETENTION_DAYS, whatever their number is",
    ],
    [
      store !== null && values.MAINSPRING_REDIS_DURABILITY === "relaxed",
      "MAINSPRING_REDIS_DURABILITY must be always where MAINSPRING_STORE is no redis:// address: it is about a Redis that is the store",
    ],
  ];
  return wrong.flatMap(([isWrong, fault]) => (isWrong ? [fault] : []));
}

/** Faults of settings that need a PostgreSQL, where a Redis is the store. */
function misfitsOnRedis(values: Combined): string[] {
  const wrong: (readonly [boolean, string])[] = [
    [
      values.MAINSPRING_SQL_SUBMIT === "on",
      "MAINSPRING_SQL_SUBMIT must be off where MAINSPRING_STORE is a Redis, because no application shares a transaction with it: submit over HTTP with an idempotency key, or through Kafka",
    ],
    [
      values.MAINSPRING_REDIS !== null,
      "MAINSPRING_REDIS must not be set where MAINSPRING_STORE is a Redis: it is for a PostgreSQL, and would be down together with the store",
    ],
    [
      values.MAINSPRING_REDIS_WINDOW === "on",
      "MAINSPRING_REDIS_WINDOW must be off where MAINSPRING_STORE is a Redis: the store itself is the index of what falls due",
    ],
    [
      values.MAINSPRING_STORE_SCHEMA !== null,
      "MAINSPRING_STORE_SCHEMA must not be set where MAINSPRING_STORE is a Redis: ?prefix=NAME in the address keeps clusters apart",
    ],
  ];
  return wrong.flatMap(([isWrong, fault]) => (isWrong ? [fault] : []));
}

/** Faults of settings of the bus on Kafka: no brokers, or another bus. */
function busFaults(values: Combined): string[] {
  const isKafka = values.MAINSPRING_BUS === "kafka";
  if (isKafka && values.MAINSPRING_KAFKA === null)
    return ["MAINSPRING_KAFKA must be set, as kafka://host:9092, where MAINSPRING_BUS is kafka"];
  if (isKafka) return [];
  return [
    ...(values.MAINSPRING_KAFKA_TOPICS_BY === "pool" ? ["MAINSPRING_KAFKA_TOPICS_BY is pool"] : []),
    ...(values.MAINSPRING_BUS_FALLBACK === "none" ? ["MAINSPRING_BUS_FALLBACK is none"] : []),
  ].map((use) => `MAINSPRING_BUS must be kafka where ${use}`);
}

/** Fault of the log of requests: no brokers. */
function ingestFaults({ MAINSPRING_INGEST: ingest, MAINSPRING_KAFKA: kafka }: Combined): string[] {
  if (ingest === null || ingest === "direct" || kafka !== null) return [];
  return [`MAINSPRING_KAFKA must be set, as kafka://host:9092, where MAINSPRING_INGEST is ${ingest}`];
}

/** Faults of other systems: a use without an address. */
function missingSystems({ MAINSPRING_EVENTS: events, MAINSPRING_LEASES: leases, ...addresses }: Combined): string[] {
  const lacksEtcd = leases === "etcd" && addresses.MAINSPRING_ETCD === null;
  const etcd = lacksEtcd ? ["MAINSPRING_ETCD must be set, as http://host:2379, where MAINSPRING_LEASES is etcd"] : [];
  const forms = [
    ["kafka", "MAINSPRING_KAFKA", "kafka://host:9092"],
    ["clickhouse", "MAINSPRING_CLICKHOUSE", "http://user:password@host:8123/database"],
    ["otlp", "MAINSPRING_OTLP", "http://host:4318"],
  ] as const;
  const sinks = forms
    .filter(([sink, name]) => events?.includes(sink) && addresses[name] === null)
    .map(([sink, name, form]) => `${name} must be set, as ${form}, where MAINSPRING_EVENTS has ${sink}`);
  return [...etcd, ...sinks];
}

/** Fault of a Node that the client of Kafka does not run on: its package names 22.22 and 24.6. */
function oldNode(values: Combined, nodeVersion: string): string[] {
  const { MAINSPRING_EVENTS: events, MAINSPRING_BUS: bus, MAINSPRING_INGEST: ingest } = values;
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  const isNew = major > 24 || (major === 24 && minor >= 6) || (major === 22 && minor >= 22);
  const uses = [
    ...(events?.includes("kafka") ? ["MAINSPRING_EVENTS must not have kafka"] : []),
    ...(bus === "kafka" ? ["MAINSPRING_BUS must not be kafka"] : []),
    ...(ingest === "kafka" || ingest === "fallback" ? ["MAINSPRING_INGEST must be direct"] : []),
  ];
  return isNew ? [] : uses.map((use) => `${use} with Node ${nodeVersion}: install Node 22.22, 24.6 or newer`);
}

/** Faults of certificates: one without its key, a key without its certificate, and one beside a proxy that has its own. */
function lonelyCertificates(values: Combined): string[] {
  const pairs = [
    ["MAINSPRING_TLS_CERT", "MAINSPRING_TLS_KEY"],
    ["MAINSPRING_MESH_CERT", "MAINSPRING_MESH_KEY"],
  ] as const;
  const isProxied = values.MAINSPRING_TLS === "proxy" && values.MAINSPRING_TLS_CERT !== null;
  return [
    ...pairs.flatMap(([cert, key]) => {
      if ((values[cert] === null) === (values[key] === null)) return [];
      const [missing, set] = values[cert] === null ? [cert, key] : [key, cert];
      return [`${missing} must be set where ${set} is`];
    }),
    ...(isProxied ? ["MAINSPRING_TLS must be files where MAINSPRING_TLS_CERT is set"] : []),
  ];
}

/** Fault of an issuer without an audience, whose tokens for every other service would be good here, and the reverse. */
function lonelyIssuer({ MAINSPRING_OIDC_ISSUER: issuer, MAINSPRING_OIDC_AUDIENCE: audience }: Combined): string[] {
  if ((issuer === null) === (audience === null)) return [];
  return issuer === null
    ? ["MAINSPRING_OIDC_ISSUER must be set where MAINSPRING_OIDC_AUDIENCE is"]
    : [
        "MAINSPRING_OIDC_AUDIENCE must be set, as mainspring, where MAINSPRING_OIDC_ISSUER is: tokens for other services are no tokens for this one",
      ];
}

/** Faults of secrets: a second value without a first one, and equal secrets. */
function lonelySecrets(values: Combined): string[] {
  const { MAINSPRING_API_KEY: apiKey, MAINSPRING_CLUSTER_SECRET: secret } = values;
  const { MAINSPRING_API_KEY_ALSO: apiKeyAlso, MAINSPRING_CLUSTER_SECRET_ALSO: secretAlso } = values;
  const errors: string[] = [];
  if (apiKeyAlso !== null && apiKey === null) {
    errors.push(
      "MAINSPRING_API_KEY must be set where MAINSPRING_API_KEY_ALSO is: without it nobody is asked for a key",
    );
  }
  if (secretAlso !== null && secret === null) {
    errors.push("MAINSPRING_CLUSTER_SECRET must be set where MAINSPRING_CLUSTER_SECRET_ALSO is");
  }
  if (values.MAINSPRING_WEBHOOK_SECRET_ALSO !== null && values.MAINSPRING_WEBHOOK_SECRET === null) {
    errors.push("MAINSPRING_WEBHOOK_SECRET must be set where MAINSPRING_WEBHOOK_SECRET_ALSO is");
  }
  const isShared = [secret, secretAlso].some((own) => own !== null && (own === apiKey || own === apiKeyAlso));
  if (isShared)
    errors.push("MAINSPRING_CLUSTER_SECRET must be another value than MAINSPRING_API_KEY: clients have that one");
  return errors;
}
