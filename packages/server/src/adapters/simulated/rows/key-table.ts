import type { EpochMs } from "../../../domain/ids.ts";
import {
  API_KEYS_MAX,
  type ApiKey,
  type ChangedKey,
  DEAD_KEYS_KEPT_DAYS,
  type KeyOwner,
  type KeyUse,
  type NewApiKey,
} from "../../../ports/store-keys.ts";
import { byText } from "../sorted-list.ts";

interface StoredKey extends ApiKey, Pick<NewApiKey, "hash"> {
  version: number;
}

const DAY_MS = 86_400_000;

/** API keys; see StoreKeys. */
export class KeyTable {
  readonly #keys = new Map<string, StoredKey>();
  version = 0;

  /** A copy with the same content. */
  copy(): KeyTable {
    const copy = new KeyTable();
    for (const [id, key] of this.#keys) copy.#keys.set(id, key);
    copy.version = this.version;
    return copy;
  }

  changedSince(version: number, limit: number): ChangedKey[] {
    const changed = [...this.#keys.values()].filter((key) => key.version > version);
    const first = changed.sort((a, b) => a.version - b.version).slice(0, limit);
    return first.map(
      ({ id, tenant, kind, scopes, pools, certificateId, expiresAt, hash, revokedAt, replaces, version: own }) => {
        return { id, tenant, kind, scopes, pools, certificateId, expiresAt, hash, revokedAt, replaces, version: own };
      },
    );
  }

  create(key: NewApiKey): boolean {
    if (this.#keys.size >= API_KEYS_MAX) return false;
    this.#change({ ...key, revokedAt: null, lastUsedAt: null });
    return true;
  }

  list(owner: KeyOwner, after: string | null, limit: number): ApiKey[] {
    const own = [...this.#keys.values()].filter((key) => sees(owner, key) && key.id > (after ?? ""));
    const page = own.sort((a, b) => byText(a.id, b.id)).slice(0, limit);
    return page.map(shown);
  }

  get(owner: KeyOwner, id: string): ApiKey | null {
    const key = this.#keys.get(id);
    return key !== undefined && sees(owner, key) ? shown(key) : null;
  }

  revoke(owner: KeyOwner, id: string, now: EpochMs): ApiKey | null {
    const key = this.#keys.get(id);
    if (key === undefined || !sees(owner, key)) return null;
    if (key.revokedAt === null) this.#change({ ...key, revokedAt: now });
    return this.get(owner, id);
  }

  rotate(successor: NewApiKey, expiresAt: EpochMs, now: EpochMs): boolean {
    const key = this.#keys.get(successor.replaces ?? "");
    if (key === undefined || key.revokedAt !== null || (key.expiresAt ?? now + 1) <= now) return false;
    if (!this.create(successor)) return false;
    this.#change({ ...key, expiresAt: Math.min(key.expiresAt ?? expiresAt, expiresAt) });
    return true;
  }

  revokeAll(tenant: string, now: EpochMs): void {
    for (const key of this.#keys.values())
      if (key.tenant === tenant && key.revokedAt === null) this.#change({ ...key, revokedAt: now });
  }

  used(uses: readonly KeyUse[]): void {
    for (const { id, at } of uses) {
      const key = this.#keys.get(id);
      if (key !== undefined) this.#keys.set(id, { ...key, lastUsedAt: Math.max(key.lastUsedAt ?? at, at) });
    }
  }

  forget(now: EpochMs): void {
    const before = now - DEAD_KEYS_KEPT_DAYS * DAY_MS;
    for (const { id, revokedAt, expiresAt } of this.#keys.values())
      if ((revokedAt ?? now) < before || (expiresAt ?? now) < before) this.#keys.delete(id);
  }

  #change(key: Omit<StoredKey, "version">): void {
    this.version++;
    this.#keys.set(key.id, { ...key, version: this.version });
  }
}

function sees({ tenant, isOperator }: KeyOwner, key: StoredKey): boolean {
  return key.tenant === tenant || (isOperator && key.tenant === null);
}

function shown({ hash: _hash, version: _version, ...key }: StoredKey): ApiKey {
  return key;
}
