/** Where the Redis beside the store is, and how to log in; from MAINSPRING_REDIS. */
export interface RedisAddress {
  host: string;
  port: number;
  /** null: connections are not encrypted. `ca`: path of a PEM file; null: the certificates that the system trusts. */
  tls: { ca: string | null } | null;
  /** `name` is null for the default user; null: no login. */
  login: { name: string | null; password: string } | null;
  /** Number of the database, 0 to 9999. */
  database: number;
  /** First part of the names of all keys, which keeps clusters of Mainspring apart that share a Redis. */
  prefix: string;
}

/** Form of MAINSPRING_REDIS, for messages. */
export const REDIS_URL =
  "redis://host:6379 or rediss://…, with user:password@ before the host, /number behind the port for another database than 0, " +
  "?prefix=NAME for other keys than those of mainspring, and with rediss &ca=FILE";

const FORM =
  /^(rediss?):\/\/(?:([^:@/?#]*):([^@/?#]+)@)?(\[[0-9a-fA-F:.]+\]|[^\s:@/?#,[\]]+)(?::(\d{1,5}))?(?:\/(\d{0,4}))?(?:\?([^#]*))?$/;
const PREFIX = /^[A-Za-z0-9._-]{1,100}$/;
const PARAMETERS = ["prefix", "ca"];

/**
 * Parses `redis[s]://[[user]:password@]host[:port][/database][?prefix=NAME&ca=FILE]`. User and password are percent-encoded.
 * @returns null: the text is no such address
 */
export function redisAddress(text: string): RedisAddress | null {
  const found = FORM.exec(text);
  if (found === null) return null;
  const [, scheme, user = "", secret, host = "", port = "6379", database = "", query = ""] = found;
  const parameters = new URLSearchParams(query);
  const names = [...parameters.keys()];
  const isKnown = names.every((name) => PARAMETERS.includes(name)) && new Set(names).size === names.length;
  const prefix = parameters.get("prefix") ?? "mainspring";
  const ca = parameters.get("ca");
  const isEncrypted = scheme === "rediss";
  if (!isKnown || !PREFIX.test(prefix) || ca === "" || (ca !== null && !isEncrypted)) return null;
  if (Number(port) < 1 || Number(port) > 65_535) return null;
  const [name, password] = [decoded(user), decoded(secret ?? "")];
  if (name === null || password === null) return null;
  return {
    host: host.replace(/^\[|\]$/g, ""),
    port: Number(port),
    tls: isEncrypted ? { ca } : null,
    login: secret === undefined ? null : { name: name === "" ? null : name, password },
    database: Number(database),
    prefix,
  };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
