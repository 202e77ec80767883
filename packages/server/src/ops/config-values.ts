import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { CLICKHOUSE_URL, type ClickHouseAddress, clickHouseAddress } from "../ports/clickhouse-address.ts";
import { ETCD_URL, type EtcdAddress, etcdAddress } from "../ports/etcd-address.ts";
import { type KafkaAddress, kafkaAddress } from "../ports/kafka-address.ts";
import { LOG_URL_PLACEHOLDERS, logUrlFault } from "../ports/log-url.ts";
import { OTLP_HEADERS, OTLP_URL, otlpHeaders, otlpUrl } from "../ports/otlp-address.ts";
import { REDIS_URL, type RedisAddress, redisAddress } from "../ports/redis-address.ts";
import { storeAddresses } from "../ports/store-address.ts";

/** A text that does not fit its key, and a description of valid texts. */
export class Unfit {
  /** Description of a valid value. */
  readonly expected: string;
  readonly message: string;

  /** @param found faulty part, if the value is a longer text; null: the whole value */
  constructor(expected: string, found: string | null = null) {
    this.expected = expected;
    this.message = found === null ? expected : `${expected}, not ${found}`;
  }
}

export interface ListenAddress {
  /** Host, without the brackets of IPv6. */
  host: string;
  /** Port; 0: any free one. */
  port: number;
}

export type Parse<T> = (text: string) => T | Unfit;

export const listenAddress: Parse<ListenAddress> = (text) => {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || port > 65_535) {
    return new Unfit("must be host:port, as 127.0.0.1:8080 or [::1]:8080; port 0 picks a free one");
  }
  return { host, port };
};

/** Whether only programs on this machine can reach the address. */
export function isLoopback({ host }: ListenAddress): boolean {
  return host.toLowerCase() === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

const POSTGRES_URL =
  "a URL such as postgres://user:password@host:5432/database, of several servers …@host1:5432,host2:5432/…";

/** Whether a text names a Redis, well or badly. */
export function isRedisUrl(text: string): boolean {
  return /^rediss?:/.test(text);
}

/** Parses the address of the store. The value may contain a password, so errors never repeat it. */
export const storeAddress: Parse<string> = (text) => {
  if (text === "embedded") return text;
  if (isRedisUrl(text)) return redisAddress(text) === null ? new Unfit(`must be ${REDIS_URL}`) : text;
  if (storeAddresses(text) === null) return new Unfit(`must be "embedded" or ${POSTGRES_URL}, or redis://host:6379`);
  const fault = postgresUrlFault(text);
  return fault === null ? text : new Unfit(fault);
};

/** Fault of the URL of a PostgreSQL, of one server or several; null: none. The fault never repeats the URL. */
export function postgresUrlFault(text: string): string | null {
  const [first] = storeAddresses(text) ?? [];
  if (first === undefined) return `must be ${POSTGRES_URL}`;
  const { searchParams } = new URL(first);
  if (["host", "port"].some((name) => searchParams.get(name)?.includes(",")))
    return "must name several servers before the path, as postgres://user@host-1:5432,host-2:5432/database";
  const wanted = searchParams.get("target_session_attrs") ?? "primary";
  if (wanted === "primary" || wanted === "read-write") return null;
  return "must have target_session_attrs=read-write or none, because only a primary can be the store";
}

/**
 * Parses the name of a schema of PostgreSQL. Names that need quotes are refused, so that every tool understands the
 * same name.
 */
export const schemaName: Parse<string> = (text) => {
  const fits = /^[a-z_][a-z0-9_]{0,62}$/.test(text) && !/^(pg_.*|information_schema)$/.test(text);
  return fits
    ? text
    : new Unfit("must be 1 to 63 lower-case letters, digits and _, not beginning with a digit or pg_, as mainspring");
};

/** Parses a secret, which errors never repeat. */
export const secret: Parse<string> = (text) =>
  /^[\x21-\x7e]{16,512}$/.test(text) ? text : new Unfit("must be 16 to 512 visible ASCII characters without spaces");

/** Parses a secret for Standard Webhooks, of 24 to 64 bytes, which errors never repeat. */
export const signingSecret: Parse<string> = (text) => {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1] ?? "";
  const { length } = Buffer.from(base64, "base64");
  const fits = base64.length % 4 === 0 && length >= 24 && length <= 64;
  return fits ? text : new Unfit("must be whsec_ and 24 to 64 bytes in base64, as Standard Webhooks has it");
};

/** Parses networks, as `127.0.0.0/8,fd00::/8`; an empty text means none. */
export const cidrList: Parse<readonly string[]> = (text) => {
  const networks = text.split(",").flatMap((part) => part.trim() || []);
  const wrong = networks.find((network) => !isNetwork(network));
  return wrong === undefined ? networks : new Unfit("must be networks such as 127.0.0.0/8,fd00::/8", wrong);
};

/**
 * Whether a text is a network. "10/8" and "010.0.0.0/8" are refused, because they can be read as different networks.
 */
function isNetwork(text: string): boolean {
  const [address = ""] = text.split("/");
  return isIP(address) !== 0 && ipaddr.isValidCIDR(text);
}

export function wholeNumber(min: number, max: number): Parse<number> {
  return (text) => {
    const value = Number(text);
    const fits = /^\d{1,9}$/.test(text) && value >= min && value <= max;
    return fits ? value : new Unfit(`must be a whole number from ${min} to ${max}`);
  };
}

export function choice<const T extends string>(...values: T[]): Parse<T> {
  return (text) => {
    const found = values.find((value) => value === text);
    return found ?? new Unfit(`must be ${values.join(" or ")}`);
  };
}

export const text: Parse<string> = (value) => value;

/** Parses a template of an address. */
export const logUrl: Parse<string> = (text) => {
  const fault = logUrlFault(text);
  if (fault === null) return text;
  const names = LOG_URL_PLACEHOLDERS.map((name) => `{${name}}`).join(", ");
  const expected = `must be an http or https URL without a password, as https://logs.example/?q={executionId}; its placeholders are ${names}`;
  return new Unfit(expected, fault === "" ? null : fault);
};

/** Parses the address where others reach this node: one to which a client can connect, not a wildcard. */
export const advertisedAddress: Parse<ListenAddress> = (text) => {
  const address = listenAddress(text);
  if (address instanceof Unfit || address.port === 0 || isWildcard(address)) {
    return new Unfit("must be host:port where other nodes reach this one, as 10.0.0.5:8081 or node-1.example:8081");
  }
  return address;
};

/** Whether the address stands for every address of a machine, so that no client can connect to it. */
export function isWildcard({ host }: ListenAddress): boolean {
  return /^(0+(\.0+){0,3}|[0:]*:[0:]*(:0\.0\.0\.0)?)$/.test(host);
}

/** Parses one or more of the values, in any order. */
export function someOf<const T extends string>(...values: T[]): Parse<readonly T[]> {
  return (text) => {
    const given = text.split(",").map((item) => item.trim());
    const found = values.filter((value) => given.includes(value));
    const fits = found.length > 0 && given.every((item) => (values as string[]).includes(item));
    return fits ? found : new Unfit(`must be one or more of ${values.join(",")}`);
  };
}

/** Parses none or more of the values, in any order, each once; an empty text means none. */
export function anyOf<const T extends string>(...values: T[]): Parse<readonly T[]> {
  return (text) => {
    const given = text.split(",").flatMap((item) => item.trim() || []);
    const wrong = given.find((item) => !(values as string[]).includes(item));
    const expected = `must be empty or a list with commas of: ${values.join(", ")}`;
    return wrong === undefined ? values.filter((value) => given.includes(value)) : new Unfit(expected, wrong);
  };
}

/** Parses the address of a database in ClickHouse. The value may contain a password, so errors never repeat it. */
export const clickHouseDatabase: Parse<ClickHouseAddress> = (text) =>
  clickHouseAddress(text) ?? new Unfit(`must be ${CLICKHOUSE_URL}`);

/** Parses the address of a Kafka cluster. */
export const kafkaBrokers: Parse<KafkaAddress> = (text) =>
  kafkaAddress(text) ??
  new Unfit(
    "must be kafka://host:port,host:port, with user:password@ before the hosts and ?tls=on&sasl=PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 behind them if the brokers want them",
  );

/** Parses the address of an etcd cluster. The value may contain a password, so errors never repeat it. */
export const etcdMembers: Parse<EtcdAddress> = (text) => etcdAddress(text) ?? new Unfit(`must be ${ETCD_URL}`);

/** Parses the URL of a Redis. It may have a password, so the error never repeats it. */
export const redisServer: Parse<RedisAddress> = (text) => redisAddress(text) ?? new Unfit(`must be ${REDIS_URL}`);

/** Parses the base URL of a receiver of OTLP. */
export const otlpBase: Parse<string> = (text) => otlpUrl(text) ?? new Unfit(`must be ${OTLP_URL}`);

/** Parses headers for a receiver of OTLP. They may be secrets, so errors never repeat them. */
export const otlpHeaderList: Parse<Readonly<Record<string, string>>> = (text) =>
  otlpHeaders(text) ?? new Unfit(`must be ${OTLP_HEADERS}`);

/** Parses the beginning of names of topics. */
export const topicPrefix: Parse<string> = (text) =>
  /^[A-Za-z0-9._-]{1,100}$/.test(text)
    ? text
    : new Unfit("must be up to 100 letters, digits, dots, dashes and underscores");
