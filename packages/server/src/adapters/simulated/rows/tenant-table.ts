import type { EpochMs } from "../../../domain/ids.ts";
import { TENANT_DEFAULTS, TENANTS_MAX } from "../../../domain/tenant.ts";
import type {
  ChangedTenant,
  NewTenant,
  StoredTenant,
  TenantChange,
  TenantSource,
} from "../../../ports/store-tenants.ts";
import { byText } from "../sorted-list.ts";

/** Tenants; see StoreTenants. */
export class TenantTable {
  readonly #tenants = new Map<string, StoredTenant>();
  readonly #sources = new Map<string, TenantSource>();
  version = 1;

  constructor() {
    const times = { createdAt: 0, updatedAt: 0, version: 1 };
    this.#tenants.set("default", { ...TENANT_DEFAULTS, name: "default", state: "ACTIVE", ...times });
  }

  /** A copy with the same content. */
  copy(): TenantTable {
    const copy = new TenantTable();
    for (const [name, tenant] of this.#tenants) copy.#tenants.set(name, tenant);
    for (const [key, source] of this.#sources) copy.#sources.set(key, source);
    copy.version = this.version;
    return copy;
  }

  all(): StoredTenant[] {
    return [...this.#tenants.values()].sort((a, b) => byText(a.name, b.name));
  }

  get(name: string): StoredTenant | null {
    return this.#tenants.get(name) ?? null;
  }

  /** @param hasRows whether rows of a former tenant of the name are still kept */
  create({ name, createdAt, ...settings }: NewTenant, hasRows: boolean): "CREATED" | "EXISTS" | "FULL" | "LEFTOVERS" {
    if (this.#tenants.size > TENANTS_MAX) return "FULL";
    if (this.#tenants.has(name)) return "EXISTS";
    if (hasRows) return "LEFTOVERS";
    const times = { createdAt, updatedAt: createdAt, version: ++this.version };
    this.#tenants.set(name, { ...settings, name, state: "ACTIVE", ...times });
    return "CREATED";
  }

  change(name: string, change: TenantChange, ifVersion: number | null, at: EpochMs): ChangedTenant {
    const known = this.#tenants.get(name);
    if (known === undefined) return { kind: "NOT_FOUND" };
    if (ifVersion !== null && ifVersion !== known.version) return { kind: "OTHER_VERSION", version: known.version };
    const tenant = { ...known, ...change, updatedAt: at, version: ++this.version };
    this.#tenants.set(name, tenant);
    return { kind: "CHANGED", tenant };
  }

  /** @returns whether the tenant was being deleted */
  drop(name: string): boolean {
    if (this.#tenants.get(name)?.state !== "DELETING") return false;
    this.#tenants.delete(name);
    for (const [key, { tenant }] of this.#sources) if (tenant === name) this.#sources.delete(key);
    this.version++;
    return true;
  }

  sources(): TenantSource[] {
    return [...this.#sources.values()].sort((a, b) => byText(a.kind, b.kind) || byText(a.name, b.name));
  }

  bind({ kind, name }: Pick<TenantSource, "kind" | "name">, tenant: string | null): void {
    this.version++;
    const key = `${kind}\u0000${name}`;
    if (tenant === null) this.#sources.delete(key);
    else this.#sources.set(key, { kind, name, tenant });
  }
}
