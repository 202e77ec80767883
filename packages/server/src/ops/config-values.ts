import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { storeAddresses } from "../ports/store-address.ts";

/** A text that does not fit its key, and what would. */
export class Unfit {
  /** Description of a valid value. */
  readonly expected: string;
  readonly message: string;

  /** @param found what is wrong with it, where it is a part of a longer text */
  constructor(expected: string, found: string | null = null) {
    this.expected = expected;
    this.message = found === null ? expected : `${expected}, not ${found}`;
  }
}

export interface ListenAddress {
  /** Without the brackets of IPv6. */
  host: string;
  /** 0: any free one. */
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

/** Whether only programs on this machine can reach it. */
export function isLoopback({ host }: ListenAddress): boolean {
  return host.toLowerCase() === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The value may hold a password, so it is never repeated. */
export const storeAddress: Parse<string> = (text) => {
  if (text === "embedded") return text;
  const [first] = storeAddresses(text) ?? [];
  if (first === undefined) {
    return new Unfit(
      'must be "embedded" or a URL such as postgres://user:password@host:5432/database, of several servers …@host1:5432,host2:5432/…',
    );
  }
  const wanted = new URL(first).searchParams.get("target_session_attrs") ?? "primary";
  if (wanted === "primary" || wanted === "read-write") return text;
  return new Unfit("must have target_session_attrs=read-write or none, because only a primary can be the store");
};

/** The name of a schema of PostgreSQL that needs no quotes, so that it is the same name in every tool. */
export const schemaName: Parse<string> = (text) => {
  const fits = /^[a-z_][a-z0-9_]{0,62}$/.test(text) && !/^(pg_.*|information_schema)$/.test(text);
  return fits
    ? text
    : new Unfit("must be 1 to 63 lower-case letters, digits and _, not beginning with a digit or pg_, as mainspring");
};

/** The value is a secret, so it is never repeated. */
export const secret: Parse<string> = (text) =>
  /^[\x21-\x7e]{16,512}$/.test(text) ? text : new Unfit("must be 16 to 512 visible ASCII characters without spaces");

/** For Standard Webhooks, whose secrets are 24 to 64 bytes. It is never repeated. */
export const signingSecret: Parse<string> = (text) => {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1] ?? "";
  const { length } = Buffer.from(base64, "base64");
  const fits = base64.length % 4 === 0 && length >= 24 && length <= 64;
  return fits ? text : new Unfit("must be whsec_ and 24 to 64 bytes in base64, as Standard Webhooks has it");
};

/** Networks, as `127.0.0.0/8,fd00::/8`; none where it is empty. */
export const cidrList: Parse<readonly string[]> = (text) => {
  const networks = text.split(",").flatMap((part) => part.trim() || []);
  const wrong = networks.find((network) => !isNetwork(network));
  return wrong === undefined ? networks : new Unfit("must be networks such as 127.0.0.0/8,fd00::/8", wrong);
};

/** "10/8" and "010.0.0.0/8" are other networks than one may think: addresses are written out. */
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

/** Where others reach this node: an address that can be connected to, unlike one that only can be listened on. */
export const advertisedAddress: Parse<ListenAddress> = (text) => {
  const address = listenAddress(text);
  if (address instanceof Unfit || address.port === 0 || isWildcard(address)) {
    return new Unfit("must be host:port where other nodes reach this one, as 10.0.0.5:8081 or node-1.example:8081");
  }
  return address;
};

/** Whether it stands for every address of a machine, and so for none that one can connect to. */
export function isWildcard({ host }: ListenAddress): boolean {
  return /^(0+(\.0+){0,3}|[0:]*:[0:]*(:0\.0\.0\.0)?)$/.test(host);
}

/** One or more of the values, in any order. */
export function someOf<const T extends string>(...values: T[]): Parse<readonly T[]> {
  return (text) => {
    const given = text.split(",").map((item) => item.trim());
    const found = values.filter((value) => given.includes(value));
    const fits = found.length > 0 && given.every((item) => (values as string[]).includes(item));
    return fits ? found : new Unfit(`must be one or more of ${values.join(",")}`);
  };
}
