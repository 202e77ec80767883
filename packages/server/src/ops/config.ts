import { resolve } from "node:path";
import { SECRET_SETTINGS } from "@mainspring/contract/enums";
import { keyKind } from "../domain/api-key.ts";
import { redisAddress } from "../ports/redis-address.ts";
import { combinationFaults } from "./combination-faults.ts";
import { ConfigError, readConfigFile, readValueFile } from "./config-file.ts";
import { KEYS, type Key } from "./config-keys.ts";
import type { Config, HandlerConfig } from "./config-types.ts";
import { isRedisUrl, Unfit } from "./config-values.ts";

export { ConfigError } from "./config-file.ts";
export type { Config, HandlerConfig } from "./config-types.ts";

/** Default stop delay in a cluster, in seconds: longer than most load balancers take between two checks. */
const CLUSTER_STOP_DELAY_SEC = 5;

/** A token of an issuer (JWT). */
const TOKEN = /^ey[\w-]+\.[\w-]+\.[\w-]+$/;

type KeyName = keyof typeof KEYS;
const KEY_NAMES = Object.keys(KEYS) as KeyName[];
const SECRETS: readonly KeyName[] = SECRET_SETTINGS;
const HANDLER_KEYS = ["MAINSPRING_HTTP_ALLOW_PRIVATE", "MAINSPRING_WEBHOOK_SECRET", "MAINSPRING_EXEC"] as const;

/** Known variables that are not the server's keys, with their purpose. */
export const OTHER_VARIABLES = {
  MAINSPRING_CONFIG: "a JSON file with the keys above; the environment wins",
  MAINSPRING_URL: "where clients and the command reach the HTTP API, as `http://127.0.0.1:8080`",
  MAINSPRING_API_KEY_FILE:
    "a file with the API key of clients, workers and the command, which they read again when it is refused; a server takes `MAINSPRING_API_KEY` from it, unless it holds a key of the store or a token",
  MAINSPRING_WORKER_TLS_CERT:
    "a file in PEM with the certificate that a worker shows to servers, for an API key that requires one; the worker reads it at each connection",
  MAINSPRING_WORKER_TLS_KEY: "the file with the private key of MAINSPRING_WORKER_TLS_CERT in PEM",
  MAINSPRING_GRPC_URL: "where workers connect, as `127.0.0.1:8081`; of a cluster several, with commas",
} as const;

/** Description of a key of the configuration, for people. */
export interface KeyHelp {
  name: string;
  /** Default value; null: none. */
  fallback: string | null;
  /** Default value where a Redis is the store; null: none. */
  onRedis: string | null;
  help: string;
  /** Allowed values, in words. */
  takes: string;
  /** Whether the value is a secret or may contain one, so that a variable with `_FILE` at its end may name a file with it. */
  isSecret: boolean;
}

/** All keys, the most important ones first. */
export function describeKeys(): KeyHelp[] {
  return KEY_NAMES.map((name) => {
    const { parse, help, ...defaults }: Key<unknown> = KEYS[name];
    // Only a key that accepts any text accepts this one.
    const refused = parse("\u0000");
    return {
      name,
      ...defaults,
      help,
      takes: refused instanceof Unfit ? refused.expected.replace(/^must be /, "") : "any text",
      isSecret: isSecret(name),
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
  const given = givenValues(env, names);
  const isOnRedis = isRedisUrl(given.MAINSPRING_STORE?.text ?? "");
  const errors: string[] = [];
  const read = <N extends KeyName>(name: N): Value<N> | null => {
    const text = given[name]?.text ?? KEYS[name][isOnRedis ? "onRedis" : "fallback"];
    if (text === null) return null;
    const value = KEYS[name].parse(text);
    if (!(value instanceof Unfit)) return value as Value<N>;
    errors.push(`${name} ${value.message}`);
    return null;
  };
  return { values: Object.fromEntries(names.map((name) => [name, read(name)])) as Partial<Values>, errors };
}

/** A value that somebody set. */
export interface GivenValue {
  text: string;
  /** Origin of the value: `environment`, or the path of a file. */
  from: string;
}

/**
 * The values that are not the defaults: from the environment, from the files of secrets, and from the file that MAINSPRING_CONFIG names.
 * @throws {ConfigError} a file cannot be read, or a secret and its file are both set
 */
export function givenValues(
  env: Texts,
  names: readonly string[] = KEY_NAMES,
): Readonly<Record<string, GivenValue | undefined>> {
  const path = env.MAINSPRING_CONFIG ?? "";
  const file = path === "" ? {} : readConfigFile(path, KEY_NAMES);
  return Object.fromEntries(
    names.map((name) => {
      const fromFile = file[name] ? { text: file[name], from: path } : undefined;
      return [name, secretOf(env, name) ?? (env[name] ? { text: env[name], from: "environment" } : fromFile)];
    }),
  );
}

/** Value from a secret's file; undefined: none is named. */
function secretOf(env: Texts, name: string): GivenValue | undefined {
  const variable = `${name}_FILE`;
  const path = isSecret(name) ? (env[variable] ?? "") : "";
  if (path === "") return undefined;
  const text = readValueFile(variable, path);
  // Clients and workers have this variable, too. Their credential must not become the key that may do everything.
  if (name === "MAINSPRING_API_KEY" && (keyKind(text) !== null || TOKEN.test(text))) return undefined;
  if (env[name]) throw new ConfigError(`${name} and ${variable} must not both be set: leave one of them out`);
  return { text, from: path };
}

function isSecret(name: string): boolean {
  return SECRETS.some((secret) => secret === name);
}

type Value<N extends KeyName> = Exclude<ReturnType<(typeof KEYS)[N]["parse"]>, Unfit>;
type Values = { [N in KeyName]: Value<N> };

function configOf(values: Values, warnings: string[]): Config {
  return {
    http: values.MAINSPRING_HTTP,
    grpc: values.MAINSPRING_GRPC,
    dataDir: resolve(values.MAINSPRING_DATA_DIR),
    store: values.MAINSPRING_STORE,
    redisStore: redisStoreOf(values),
    storeSchema: values.MAINSPRING_STORE_SCHEMA,
    apiKey: values.MAINSPRING_API_KEY,
    apiKeyAlso: values.MAINSPRING_API_KEY_ALSO,
    keysStaleSec: values.MAINSPRING_KEYS_STALE_SEC,
    tokens: tokensOf(values),
    audit: {
      keyFile: values.MAINSPRING_AUDIT_KEY,
      days: values.MAINSPRING_AUDIT_DAYS,
      submits: values.MAINSPRING_AUDIT_SUBMITS,
    },
    clusterSecret: values.MAINSPRING_CLUSTER_SECRET,
    clusterSecretAlso: values.MAINSPRING_CLUSTER_SECRET_ALSO,
    tls: tlsOf(values),
    httpLimits: { peerConnections: values.MAINSPRING_HTTP_PEER_CONNECTIONS },
    streamsMax: values.MAINSPRING_STREAMS_MAX,
    poolsMax: values.MAINSPRING_POOLS_MAX,
    stopDelaySec: values.MAINSPRING_STOP_DELAY_SEC ?? (values.MAINSPRING_BUS === "memory" ? 0 : CLUSTER_STOP_DELAY_SEC),
    retentionDays: values.MAINSPRING_RETENTION_DAYS,
    retentionMax: values.MAINSPRING_RETENTION_MAX,
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
    ingest: values.MAINSPRING_INGEST,
    builtInWorker: values.MAINSPRING_BUILTIN_WORKER === "on",
    handlers: handlersOf(values),
    bus: values.MAINSPRING_BUS === "memory" ? "memory" : "mesh",
    busKafka:
      values.MAINSPRING_BUS === "kafka"
        ? { topicsBy: values.MAINSPRING_KAFKA_TOPICS_BY, isStrict: values.MAINSPRING_BUS_FALLBACK === "none" }
        : null,
    etcd: values.MAINSPRING_LEASES === "etcd" ? values.MAINSPRING_ETCD : null,
    wantsLeader: values.MAINSPRING_LEADER === "one",
    redis: values.MAINSPRING_REDIS,
    redisWindow: values.MAINSPRING_REDIS_WINDOW === "on",
    roles: values.MAINSPRING_ROLES,
    tzdata: values.MAINSPRING_TZDATA,
    advertise: values.MAINSPRING_ADVERTISE,
    warnings,
  };
}

function redisStoreOf(values: Values): Config["redisStore"] {
  const address = redisAddress(values.MAINSPRING_STORE);
  const isRelaxed = values.MAINSPRING_REDIS_DURABILITY === "relaxed";
  return address && { address, replicas: values.MAINSPRING_REDIS_REPLICAS, isRelaxed };
}

function tokensOf(values: Values): Config["tokens"] {
  const { MAINSPRING_OIDC_ISSUER: issuer, MAINSPRING_OIDC_AUDIENCE: audience } = values;
  if (issuer === null || audience === null) return null;
  return {
    ...{ issuer, audience, algorithms: values.MAINSPRING_OIDC_ALGORITHMS },
    ...{ lifeSec: values.MAINSPRING_OIDC_LIFE_SEC, skewSec: values.MAINSPRING_OIDC_SKEW_SEC },
    ...{ refreshSec: values.MAINSPRING_OIDC_REFRESH_SEC, staleSec: values.MAINSPRING_OIDC_STALE_SEC },
    ...{ rolesClaim: values.MAINSPRING_OIDC_ROLES_CLAIM, roles: values.MAINSPRING_OIDC_ROLES },
    ...{ tenantClaim: values.MAINSPRING_OIDC_TENANT_CLAIM, poolsClaim: values.MAINSPRING_OIDC_POOLS_CLAIM },
  };
}

function tlsOf(values: Values): Config["tls"] {
  const { MAINSPRING_TLS_CERT: cert, MAINSPRING_TLS_KEY: key, MAINSPRING_TLS_CA: ca } = values;
  const { MAINSPRING_MESH_CERT: meshCert, MAINSPRING_MESH_KEY: meshKey } = values;
  return {
    ...{ cert, key, ca, meshCert, meshKey },
    isProxied: values.MAINSPRING_TLS === "proxy",
    isMeshPlain: values.MAINSPRING_MESH_PLAINTEXT === "on",
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
  const files = SECRETS.map((name) => `${name}_FILE`);
  const known: string[] = [...KEY_NAMES, ...files, ...Object.keys(OTHER_VARIABLES)];
  return Object.keys(env)
    .filter((name) => name.startsWith("MAINSPRING_") && !known.includes(name))
    .map((name) => `${name} is no key of the configuration: the keys are ${KEY_NAMES.join(", ")}`);
}
