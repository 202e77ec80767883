import { hash, timingSafeEqual } from "node:crypto";
import type { Scope } from "@mainspring/contract/enums";
import { EVERY_POOL, SCOPES_OF } from "../domain/api-key.ts";
import type { Principal } from "../ports/authenticator.ts";
import { tenantOf } from "./tenant.ts";

/** API keys of the settings. */
export interface ApiKeys {
  /** API key (MAINSPRING_API_KEY); null: none. */
  apiKey: string | null;
  /** Second valid key, for the time of a key change; null: none. */
  apiKeyAlso?: string | null;
}

/** Caller of a server that asks for no key. */
export const LOOPBACK = operator("loopback", "OPEN");

const BEARER = /^Bearer +(\S+)$/i;

/** Credential in an `Authorization` header; null: the header is missing or of another kind. */
export function bearerOf(authorization: string | undefined): string | null {
  return BEARER.exec(authorization ?? "")?.[1] ?? null;
}

export function digestOf(key: string): Buffer {
  return hash("sha256", key, "buffer");
}

/** Finds the caller with a key of the settings. */
export class SettingsKeys {
  readonly #keys: { digest: Buffer; principal: Principal }[] = [];

  constructor({ apiKey, apiKeyAlso = null }: ApiKeys) {
    if (apiKey !== null) this.#add(apiKey, "environment");
    if (apiKeyAlso !== null) this.#add(apiKeyAlso, "environment-also");
  }

  get isEmpty(): boolean {
    return this.#keys.length === 0;
  }

  /** @param digest of the given key. The comparison uses digests of one length, so its time reveals nothing. */
  find(digest: Buffer): Principal | null {
    const found = this.#keys.filter((own) => timingSafeEqual(own.digest, digest));
    return found[0]?.principal ?? null;
  }

  #add(key: string, keyId: string): void {
    this.#keys.push({ digest: digestOf(key), principal: operator(keyId, "SETTINGS") });
  }
}

/**
 * A check of `Authorization` headers by the keys of the settings alone, for the nodes of a cluster, which no other key admits.
 * Without such a key, the check admits everybody.
 */
export function settingsCheck(keys: ApiKeys): (authorization: string | undefined) => boolean {
  const own = new SettingsKeys(keys);
  return (authorization) => own.isEmpty || own.find(digestOf(bearerOf(authorization) ?? "")) !== null;
}

function operator(keyId: string, source: Principal["source"]): Principal {
  const scopes: ReadonlySet<Scope> = new Set(SCOPES_OF.OPERATOR);
  return { keyId, source, kind: "OPERATOR", tenant: tenantOf(null), scopes, pools: EVERY_POOL };
}
