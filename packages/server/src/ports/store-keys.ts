import type { ApiKeyKind, Scope } from "../domain/api-key.ts";
import type { EpochMs } from "../domain/ids.ts";
import type { AuditNote } from "./store-audit.ts";

/**
 * API keys. Each change of a key raises the version of all keys in its transaction, so a node that knows the keys of a version
 * reads only the ones that were changed since.
 */
export interface StoreKeys {
  /** Version of all keys; 0: there has never been a key. */
  version(): Promise<number>;
  /** Keys that were changed after a version, in order of the versions of their last changes. */
  changedSince(version: number, limit: number): Promise<ChangedKey[]>;
  /** @returns false: the store has `API_KEYS_MAX` keys */
  create(key: NewApiKey, note?: AuditNote): Promise<boolean>;
  /** Keys in order of their ids, behind `after`. */
  list(owner: KeyOwner, after: string | null, limit: number): Promise<ApiKey[]>;
  get(owner: KeyOwner, id: string): Promise<ApiKey | null>;
  /** Revokes a key, for good. A repeat changes nothing. @returns null: there is no such key */
  revoke(owner: KeyOwner, id: string, now: EpochMs, note?: AuditNote): Promise<ApiKey | null>;
  /**
   * Creates the successor of a key, and has the key expire at `expiresAt` if it does not expire before.
   * @returns false: the key is not good at `now`, or the store has `API_KEYS_MAX` keys; nothing was written
   */
  rotate(successor: NewApiKey, expiresAt: EpochMs, now: EpochMs, note?: AuditNote): Promise<boolean>;
  /** Keeps when keys were last used. An older time than the kept one changes nothing. */
  used(uses: readonly KeyUse[]): Promise<void>;
}

/** Largest number of keys in a store, with the revoked and expired ones that it still has. */
export const API_KEYS_MAX = 100_000;
/** Days for which the store has keys that are revoked or expired. */
export const DEAD_KEYS_KEPT_DAYS = 90;

/** Keys that a caller may see: those of a tenant, or those and the ones of operators. */
export interface KeyOwner {
  tenant: string;
  isOperator: boolean;
}

export interface ApiKey {
  id: string;
  /** null: a key of operators. */
  tenant: string | null;
  kind: ApiKeyKind;
  scopes: readonly Scope[];
  /** Pools that the key may serve, in which `*` stands for any characters. */
  pools: readonly string[];
  /** Key id that the certificate of a worker must name: this one's, or that of a key it replaces; null: none is needed. */
  certificateId: string | null;
  name: string;
  /** Beginning and end of the key, for people. */
  hint: string;
  createdAt: EpochMs;
  /** Key by which it was created. */
  createdBy: string;
  /** null: never. */
  expiresAt: EpochMs | null;
  revokedAt: EpochMs | null;
  /** Last use, to the minute; null: none. */
  lastUsedAt: EpochMs | null;
  /** Key that it replaces; null: none. */
  replaces: string | null;
}

export interface NewApiKey extends Omit<ApiKey, "revokedAt" | "lastUsedAt"> {
  /** SHA-256 of the key, in base64. */
  hash: string;
}

/** Fields of a key by which requests are judged. */
export interface ChangedKey
  extends Pick<
    NewApiKey,
    "id" | "tenant" | "kind" | "scopes" | "pools" | "certificateId" | "expiresAt" | "hash" | "replaces"
  > {
  revokedAt: EpochMs | null;
  /** Version of all keys at its last change. */
  version: number;
}

export interface KeyUse {
  id: string;
  at: EpochMs;
}
