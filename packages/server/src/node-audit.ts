import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Logger } from "pino";
import { boundedDetail } from "./domain/audit/audit-record.ts";
import { DEFAULT_TENANT, type Incarnation, type ShardId } from "./domain/ids.ts";
import { type Config, ConfigError } from "./ops/config.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { Store } from "./ports/store.ts";
import type { AuditNote } from "./ports/store-audit.ts";
import { AuditAnchors } from "./security/audit-anchors.ts";

interface AuditParts {
  config: Config;
  /** Its `now` is the store's clock. */
  runtime: Runtime;
  log: Logger;
  life: Lifecycle;
  store: Pick<Store, "audit">;
}

/** Seals the audit log while the node runs. @param owned shards that the node owns */
export function startAnchors(parts: AuditParts & { owned: () => { has(shard: ShardId): boolean } }): void {
  const { config, runtime, log, life, store, owned } = parts;
  const { keyFile, days } = config.audit;
  const anchors = new AuditAnchors({ audit: store.audit, runtime, log, owned, days, sign: signerOf(keyFile) });
  life.started("anchors of the audit log", () => anchors.stop());
  anchors.start();
}

/** @throws {ConfigError} the file has no private key of Ed25519 */
export function signerOf(keyFile: string | null): ((hash: string) => string) | null {
  if (keyFile === null) return null;
  const fault = (why: string) =>
    new ConfigError(`MAINSPRING_AUDIT_KEY ${why}: make one with openssl genpkey -algorithm ed25519 -out audit-key.pem`);
  const key = privateKeyIn(keyFile, fault);
  if (key.asymmetricKeyType !== "ed25519") throw fault(`has a key of ${key.asymmetricKeyType}, and not of Ed25519`);
  return (hash) => sign(null, Buffer.from(hash), key).toString("base64");
}

function privateKeyIn(keyFile: string, fault: (why: string) => ConfigError) {
  try {
    return createPrivateKey(readFileSync(keyFile));
  } catch (error) {
    throw fault(`names a file without a private key in PEM (${(error as NodeJS.ErrnoException).code ?? "unreadable"})`);
  }
}

/** Note of the start of a node, with the settings that matter for its security. */
export function noteOfStart(config: Config, node: Incarnation): AuditNote {
  const { http, grpc, store, redisStore, bus, roles, apiKey, clusterSecret, tls, audit, retentionDays } = config;
  const settings = {
    ...{ http: `${http.host}:${http.port}`, grpc: `${grpc.host}:${grpc.port}`, bus, roles: [...roles] },
    ...{ store: redisStore !== null ? "redis" : store === "embedded" ? "embedded" : "postgresql" },
    ...{ events: [...config.events], retentionDays },
    ...{ apiKey: apiKey !== null, clusterSecret: clusterSecret !== null, tls: tls.cert !== null },
    ...{ auditDays: audit.days, auditSubmits: audit.submits, auditKey: audit.keyFile !== null },
  };
  return {
    ...{ tenant: DEFAULT_TENANT, actor: { kind: "SYSTEM", keyId: null, for: null }, action: "startNode" },
    ...{ target: node, outcome: "DONE", requestId: null, address: null, detail: boundedDetail(settings) },
  };
}
