import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Role } from "../ports/bus.ts";
import {
  advertisedAddress,
  choice,
  cidrList,
  isLoopback,
  isWildcard,
  type ListenAddress,
  listenAddress,
  type Parse,
  schemaName,
  secret,
  signingSecret,
  someOf,
  storeAddress,
  text,
  Unfit,
  wholeNumber,
} from "./config-values.ts";

export interface Config {
  /** Where the HTTP API listens. */
  http: ListenAddress;
  /** Where workers connect. */
  grpc: ListenAddress;
  /** Absolute. */
  dataDir: string;
  /** "embedded", or the URL of a PostgreSQL; it may hold a password. */
  store: string;
  /** Schema of PostgreSQL that the store is in; null: the one in which it is found, and `mainspring` for a new one. */
  storeSchema: string | null;
  /** null: only who is on this machine may use the server, and needs no key. */
  apiKey: string | null;
  /** A second key that is valid too, while clients change from one to the other; null: none. */
  apiKeyAlso: string | null;
  /** Secret by which nodes of a cluster prove themselves to each other; null: they show each other the API key. */
  clusterSecret: string | null;
  /** A second secret that is valid too, while nodes change from one to the other; null: none. */
  clusterSecretAlso: string | null;
  httpLimits: HttpBounds;
  /** How many pools may get jobs within an hour, at this node. */
  poolsMax: number;
  /** How long a node that is told to stop goes on serving while /readyz answers 503. */
  stopDelaySec: number;
  /** How long final executions are kept. */
  retentionDays: number;
  logLevel: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  /** Whether the server brings a worker for the handlers that it comes with. */
  builtInWorker: boolean;
  handlers: HandlerConfig;
  /** memory: this server is alone. mesh: it is a node of the cluster that its store belongs to. */
  bus: "memory" | "mesh";
  roles: readonly Role[];
  /** A folder of compiled zones or a JSON file with time zone data; null: what comes with the server or the system. */
  tzdata: string | null;
  /** null: where it listens. */
  advertise: ListenAddress | null;
  /** To be logged once there is a log. */
  warnings: readonly string[];
}

/** Bounds of what the HTTP API holds for its clients. */
export interface HttpBounds {
  /** Connections from one address at once. */
  peerConnections: number;
}

/** Permissions of the built-in handlers, in a server and in `mainspring worker`. */
export interface HandlerConfig {
  /** CIDRs beyond the public internet that the handler `http` may reach. */
  httpAllowPrivate: readonly string[];
  /** `whsec_` and base64: what `http` signs its requests with. null: it does not. */
  webhookSecret: string | null;
  /** Whether the handler `exec` is offered. */
  exec: boolean;
}

/** The configuration cannot be used; the message names each key that is wrong and what would be right. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

interface Key<T> {
  parse: Parse<T>;
  fallback: string | null;
  /** For people: what it is for. */
  help: string;
}

function key<T>(parse: Parse<T>, fallback: string | null, help: string): Key<T> {
  return { parse, fallback, help };
}

/** Longer than most load balancers take to look again. */
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
    "clients and workers must send it as bearer token; without it only loopback is served",
  ),
  MAINSPRING_API_KEY_ALSO: key(
    secret,
    null,
    "a second key that is valid too, so that clients and workers change from one to the other without an outage",
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
  MAINSPRING_POOLS_MAX: key(
    wholeNumber(1, 1_000_000),
    "10000",
    "how many pools jobs may be submitted to within an hour, at this node; a job for one more is refused",
  ),
  MAINSPRING_RETENTION_DAYS: key(wholeNumber(1, 36_500), "30", "how many days final executions are kept"),
  MAINSPRING_STOP_DELAY_SEC: key(
    wholeNumber(0, 300),
    null,
    "how many seconds a node that is told to stop goes on serving while /readyz answers 503, so that load balancers leave it first; 5 where MAINSPRING_BUS is mesh, else 0",
  ),
  MAINSPRING_LOG_LEVEL: key(
    choice("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    "info",
    "what is logged",
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
  MAINSPRING_WEBHOOK_SECRET: key(signingSecret, null, "signs the requests of the handler `http` (Standard Webhooks)"),
  MAINSPRING_EXEC: key(choice("on", "off"), "off", "whether the handler `exec` is offered, which runs programs"),
  MAINSPRING_BUS: key(
    choice("memory", "mesh"),
    "memory",
    "memory: a server that is alone; mesh: a node of a cluster, with all others that have the same PostgreSQL",
  ),
  MAINSPRING_LEASES: key(choice("store"), "store", "what says which nodes of a cluster live"),
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

/** Variables that are not the server's keys, and are not mistakes either, with what they are for. */
export const OTHER_VARIABLES = {
  MAINSPRING_CONFIG: "a JSON file with the keys above; the environment wins",
  MAINSPRING_URL: "where clients and the command reach the HTTP API, as `http://127.0.0.1:8080`",
  MAINSPRING_GRPC_URL: "where workers connect, as `127.0.0.1:8081`; of a cluster several, with commas",
} as const;

/** A key of the configuration, as people are told of it. */
export interface KeyHelp {
  name: string;
  /** null: none. */
  fallback: string | null;
  help: string;
  /** Allowed values, in words. */
  takes: string;
}

/** All keys, in the order in which they matter. */
export function describeKeys(): KeyHelp[] {
  return KEY_NAMES.map((name) => {
    const { parse, fallback, help }: Key<unknown> = KEYS[name];
    // Nothing takes this, but what takes any text.
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
 * @throws {ConfigError}
 */
export function loadConfig(env: Texts): Config {
  const { values, errors } = readKeys(env, KEY_NAMES);
  errors.push(...exposures(values as Values), ...misfits(values as Values), ...lonelySecrets(values as Values));
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
  const file = env.MAINSPRING_CONFIG ? readConfigFile(env.MAINSPRING_CONFIG) : {};
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
    clusterSecret: values.MAINSPRING_CLUSTER_SECRET,
    clusterSecretAlso: values.MAINSPRING_CLUSTER_SECRET_ALSO,
    httpLimits: { peerConnections: values.MAINSPRING_HTTP_PEER_CONNECTIONS },
    poolsMax: values.MAINSPRING_POOLS_MAX,
    stopDelaySec: values.MAINSPRING_STOP_DELAY_SEC ?? (values.MAINSPRING_BUS === "mesh" ? CLUSTER_STOP_DELAY_SEC : 0),
    retentionDays: values.MAINSPRING_RETENTION_DAYS,
    logLevel: values.MAINSPRING_LOG_LEVEL,
    builtInWorker: values.MAINSPRING_BUILTIN_WORKER === "on",
    handlers: handlersOf(values),
    bus: values.MAINSPRING_BUS,
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

/** Without a key, whoever reaches an address may run jobs: then nobody but this machine may reach it. */
function exposures(values: Values): string[] {
  if (values.MAINSPRING_API_KEY !== null) return [];
  return (["MAINSPRING_HTTP", "MAINSPRING_GRPC"] as const)
    .filter((name) => values[name] !== null && !isLoopback(values[name]))
    .map((name) => `${name} must be a loopback address such as 127.0.0.1 while MAINSPRING_API_KEY is not set`);
}

/** Values that are valid each for itself, and not together. */
function misfits(values: Values): string[] {
  const {
    MAINSPRING_BUS: bus,
    MAINSPRING_ROLES: roles,
    MAINSPRING_ADVERTISE: advertise,
    MAINSPRING_GRPC: grpc,
  } = values;
  const errors: string[] = [];
  if (bus === "memory" && roles !== null && roles.length < 3) {
    errors.push(
      "MAINSPRING_ROLES must be api,scheduler,gateway: a server that is alone does it all (MAINSPRING_BUS=mesh makes it a node of a cluster)",
    );
  }
  if (bus === "mesh" && values.MAINSPRING_STORE === "embedded") {
    errors.push(
      "MAINSPRING_STORE must be a URL such as postgres://user:password@host:5432/database that all nodes have in common, where MAINSPRING_BUS is mesh",
    );
  }
  if (bus === "mesh" && advertise === null && grpc !== null && isWildcard(grpc)) {
    errors.push(
      "MAINSPRING_ADVERTISE must be set, as 10.0.0.5:8081: MAINSPRING_GRPC listens on every address, and other nodes need one",
    );
  }
  if (bus === "mesh" && advertise !== null && grpc !== null && isLoopback(advertise) && !isLoopback(grpc)) {
    errors.push(
      "MAINSPRING_ADVERTISE must be an address of this machine, as 10.0.0.5:8081: a loopback address leads every other machine to itself, and MAINSPRING_GRPC is not of the loopback",
    );
  }
  return errors;
}

/** A second value without a first one, and secrets that are no secrets of their own. */
function lonelySecrets(values: Values): string[] {
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
  const isShared = [secret, secretAlso].some((own) => own !== null && (own === apiKey || own === apiKeyAlso));
  if (isShared)
    errors.push("MAINSPRING_CLUSTER_SECRET must be another value than MAINSPRING_API_KEY: clients have that one");
  return errors;
}

function unknownVariables(env: Texts): string[] {
  const known: string[] = [...KEY_NAMES, ...Object.keys(OTHER_VARIABLES)];
  return Object.keys(env)
    .filter((name) => name.startsWith("MAINSPRING_") && !known.includes(name))
    .map((name) => `${name} is no key of the configuration: the keys are ${KEY_NAMES.join(", ")}`);
}

function readConfigFile(path: string): Texts {
  const content = parseFile(path);
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new ConfigError(`MAINSPRING_CONFIG: ${path} must hold a JSON object with keys such as MAINSPRING_HTTP`);
  }
  const entries = Object.entries(content);
  const errors = entries.flatMap(([name, value]) => fileError(name, value));
  if (errors.length > 0) throw new ConfigError(errors.map((error) => `${path}: ${error}`).join("\n"));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

function fileError(name: string, value: unknown): string[] {
  if (!(KEY_NAMES as string[]).includes(name)) {
    return [`${name} is no key of the configuration: the keys are ${KEY_NAMES.join(", ")}`];
  }
  return typeof value === "string" || typeof value === "number" ? [] : [`${name} must be a string or a number`];
}

function parseFile(path: string): unknown {
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`MAINSPRING_CONFIG must name a file that can be read: ${path} (${code})`, { cause: error });
  }
  try {
    return JSON.parse(content);
  } catch {
    // The parser's message would quote the file, and with it perhaps a password.
    throw new ConfigError(`MAINSPRING_CONFIG: ${path} is not JSON`);
  }
}
