/** Where a Kafka cluster is, and how to log in; from MAINSPRING_KAFKA. */
export interface KafkaAddress {
  /** host:port of brokers; one that answers is enough. */
  brokers: readonly string[];
  tls: boolean;
  /** null: no login. */
  sasl: { mechanism: SaslMechanism; username: string; password: string } | null;
}

export const SASL_MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] as const;
export type SaslMechanism = (typeof SASL_MECHANISMS)[number];

const FORM = /^kafka:\/\/(?:([^:@/?]+):([^@/?]+)@)?([^@/?]+)\/?(?:\?(.*))?$/;
const BROKER = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:[\]]+):(\d{1,5})$/;

/**
 * Parses `kafka://[user:password@]host:port[,host:port…][?tls=on&sasl=SCRAM-SHA-512]`. User and password are
 * percent-encoded; `sasl` is PLAIN unless the address says otherwise.
 * @returns null: the text is no such address
 */
export function kafkaAddress(text: string): KafkaAddress | null {
  const [, user, password, hosts = "", query = ""] = FORM.exec(text) ?? [];
  const brokers = hosts.split(",");
  const parameters = new URLSearchParams(query);
  const tls = parameters.get("tls") ?? "off";
  const asked = parameters.get("sasl");
  const mechanism = SASL_MECHANISMS.find((name) => name === (asked ?? "PLAIN").toUpperCase());
  const isKnown = [...parameters.keys()].every((name) => name === "tls" || name === "sasl");
  if (!brokers.every(isBroker) || !isKnown || !["on", "off"].includes(tls) || mechanism === undefined) return null;
  if (user === undefined || password === undefined)
    return asked === null ? { brokers, tls: tls === "on", sasl: null } : null;
  const [username, secret] = [decoded(user), decoded(password)];
  if (username === null || secret === null) return null;
  return { brokers, tls: tls === "on", sasl: { mechanism, username, password: secret } };
}

function isBroker(text: string): boolean {
  const port = Number(BROKER.exec(text)?.[1]);
  return port >= 1 && port <= 65_535;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
