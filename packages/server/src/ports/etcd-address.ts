/** Where an etcd cluster is, and how to log in; from MAINSPRING_ETCD. */
export interface EtcdAddress {
  /** host:port of members; one that answers is enough. */
  endpoints: readonly string[];
  /** null: connections are not encrypted. */
  tls: EtcdTls | null;
  /** null: no login. */
  login: { name: string; password: string } | null;
  /** First part of the names of all keys, which keeps clusters of Mainspring apart that share an etcd. */
  prefix: string;
}

/** Paths of PEM files. */
export interface EtcdTls {
  /** Certificates that signed those of the members; null: those that the system trusts. */
  ca: string | null;
  /** Certificate of this client and its private key; null: it shows none. */
  client: { cert: string; key: string } | null;
}

/** Form of MAINSPRING_ETCD, for messages. */
export const ETCD_URL =
  "http://host:2379,host:2379 or https://…, with user:password@ before the hosts, /prefix behind them for another prefix than mainspring, " +
  "and with https ?ca=FILE&cert=FILE&key=FILE";

const FORM = /^(https?):\/\/(?:([^:@/?]+):([^@/?]+)@)?([^@/?#]+)(?:\/([A-Za-z0-9._-]{0,100}))?(?:\?([^#]*))?$/;
const ENDPOINT = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:[\]]+):(\d{1,5})$/;
const ENDPOINTS_MAX = 16;
const PREFIX = "mainspring";

/**
 * Parses `http[s]://[user:password@]host:port[,host:port…][/prefix][?ca=FILE&cert=FILE&key=FILE]`. User and password are
 * percent-encoded.
 * @returns null: the text is no such address
 */
export function etcdAddress(text: string): EtcdAddress | null {
  const [, scheme, user, secret, hosts = "", prefix, query = ""] = FORM.exec(text) ?? [];
  const endpoints = hosts.split(",");
  if (endpoints.length > ENDPOINTS_MAX || !endpoints.every(isEndpoint)) return null;
  const tls = tlsOf(scheme === "https", new URLSearchParams(query));
  if (tls === undefined) return null;
  const [name, password] = [decoded(user ?? ""), decoded(secret ?? "")];
  if (name === null || password === null) return null;
  return { endpoints, tls, login: user === undefined ? null : { name, password }, prefix: prefix || PREFIX };
}

/** @returns undefined: the parameters do not fit */
function tlsOf(isOn: boolean, parameters: URLSearchParams): EtcdTls | null | undefined {
  const names = [...parameters.keys()];
  const isKnown = names.every((name) => ["ca", "cert", "key"].includes(name)) && new Set(names).size === names.length;
  const [ca, cert, key] = ["ca", "cert", "key"].map((name) => parameters.get(name));
  if (!isKnown || [...parameters.values()].includes("") || (cert == null) !== (key == null)) return undefined;
  if (!isOn) return names.length === 0 ? null : undefined;
  return { ca: ca ?? null, client: cert == null || key == null ? null : { cert, key } };
}

function isEndpoint(text: string): boolean {
  const port = Number(ENDPOINT.exec(text)?.[1]);
  return port >= 1 && port <= 65_535;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
