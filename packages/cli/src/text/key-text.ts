import type { ApiKeyInfo, Me } from "@mainspring/sdk";
import { facts, table } from "./output.ts";

/** API keys for people, one a line. */
export function keysText(keys: readonly ApiKeyInfo[]): string {
  if (keys.length === 0) return "no API keys";
  const rows = keys.map((key) => [
    key.keyId,
    key.kind,
    key.state,
    key.hint,
    key.name,
    key.certificateId === null ? "-" : "required",
    key.lastUsedAt ?? "-",
    key.expiresAt ?? "-",
  ]);
  return table(["KEY", "KIND", "STATE", "HINT", "NAME", "CERTIFICATE", "USED", "EXPIRES"], rows);
}

/** An API key for people. @param key text that no later command shows; left out: none */
export function keyText(info: ApiKeyInfo, key: string | null = null): string {
  return facts([
    ["key id", info.keyId],
    ["kind", info.kind],
    ["name", info.name],
    ["tenant", info.tenant],
    ["state", info.state],
    ["scopes", info.scopes.join(", ")],
    ["pools", info.pools?.join(", ") ?? null],
    ["certificate", info.certificateId === null ? null : `mainspring://CLUSTER/worker/${info.certificateId}`],
    ["created", `${info.createdAt} by ${info.createdBy}`],
    ["expires", info.expiresAt],
    ["revoked", info.revokedAt],
    ["used", info.lastUsedAt],
    ["replaces", info.replaces],
    ["hint", key === null ? info.hint : null],
    ["key", key],
  ]);
}

/** The caller for people. */
export function meText({ keyId, kind, tenant, scopes, pools }: Me): string {
  return facts([
    ["key id", keyId],
    ["kind", kind],
    ["tenant", tenant],
    ["scopes", scopes.join(", ")],
    ["pools", pools?.join(", ") ?? null],
  ]);
}
