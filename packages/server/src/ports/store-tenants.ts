import type { EpochMs } from "../domain/ids.ts";
import type { TenantRecord, TenantSettings } from "../domain/tenant.ts";
import type { AuditNote } from "./store-audit.ts";

/**
 * Tenants. Each change of a tenant raises the version of all tenants in its transaction, so a node that knows the tenants of a
 * version reads them again only after a change.
 */
export interface StoreTenants {
  /** Version of all tenants, of their pools, and of the sources of requests that have a tenant. */
  version(): Promise<number>;
  /** All tenants, those that are being deleted included, by name; at most `TENANTS_MAX` and `default`. */
  all(): Promise<StoredTenant[]>;
  /** The tenant of this name; null: there is none. */
  get(name: string): Promise<StoredTenant | null>;
  /** @returns CREATED, or the reason why nothing was written; LEFTOVERS: rows of a former tenant of the name are still kept */
  create(tenant: NewTenant, note?: AuditNote): Promise<"CREATED" | "EXISTS" | "FULL" | "LEFTOVERS">;
  /**
   * Changes the settings or the state of a tenant.
   * @param ifVersion version that the tenant must have; null: any
   */
  change(
    name: string,
    change: TenantChange,
    ifVersion: number | null,
    at: EpochMs,
    note?: AuditNote,
  ): Promise<ChangedTenant>;
  /** Ends the deletion of a tenant that is DELETING, after which its name is no longer that of a tenant, and removes its pools. */
  drop(name: string, at: EpochMs): Promise<void>;
  /** Revokes every key of a tenant. */
  revokeKeys(name: string, at: EpochMs): Promise<void>;
  /** Stored names of the pools that tenants own. */
  pools(): Promise<string[]>;
  /** Tenants of requests that come without a key, by kind and name. */
  sources(): Promise<TenantSource[]>;
  /** Gives a source a tenant. @param tenant null: the source has the tenant `default` again */
  bind(source: Pick<TenantSource, "kind" | "name">, tenant: string | null, note?: AuditNote): Promise<void>;
}

export interface StoredTenant extends TenantRecord {
  createdAt: EpochMs;
  updatedAt: EpochMs;
  /** Version of all tenants at the last change of this one. */
  version: number;
}

export interface NewTenant extends TenantSettings {
  name: string;
  createdAt: EpochMs;
}

export type TenantChange = Partial<TenantSettings & Pick<TenantRecord, "state">>;

export type ChangedTenant =
  | { kind: "CHANGED"; tenant: StoredTenant }
  | { kind: "NOT_FOUND" }
  | { kind: "OTHER_VERSION"; version: number };

/** Origin of requests that come without a key. ROLE: the database role that submits in SQL; TOPIC: the topic of Kafka. */
export interface TenantSource {
  kind: "ROLE" | "TOPIC";
  name: string;
  tenant: string;
}
