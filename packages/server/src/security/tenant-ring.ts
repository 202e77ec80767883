import { servesPool } from "../domain/api-key.ts";
import { ownedPool, ownerOfPool } from "../domain/pool.ts";
import type { TenantRecord } from "../domain/tenant.ts";
import type { StoreTenants, TenantSource } from "../ports/store-tenants.ts";
import { isOfOperators } from "./tenant.ts";

/**
 * The tenants of the store in the memory of a node. The key ring reads them after the keys, so the tenant of a key in memory is
 * in memory, too.
 */
export class TenantRing {
  readonly #store: Pick<StoreTenants, "version" | "all" | "sources" | "pools">;
  #version = 0;
  #tenants: ReadonlyMap<string, TenantRecord> = new Map();
  #topics: ReadonlyMap<string, string> = new Map();
  /** Stored names of the pools that tenants own. */
  #pools: ReadonlySet<string> = new Set();
  readonly #listeners: ((tenants: ReadonlyMap<string, TenantRecord>) => void)[] = [];

  constructor(store: Pick<StoreTenants, "version" | "all" | "sources" | "pools">) {
    this.#store = store;
  }

  /** Adds a listener that is called with all tenants, now and after each change. */
  onChange(changed: (tenants: ReadonlyMap<string, TenantRecord>) => void): void {
    this.#listeners.push(changed);
    if (this.#version > 0) changed(this.#tenants);
  }

  /** Tenants by name. */
  get all(): ReadonlyMap<string, TenantRecord> {
    return this.#tenants;
  }

  get(name: string): TenantRecord | undefined {
    return this.#tenants.get(name);
  }

  /** Whether there are tenants beside `default`. */
  get hasSeveral(): boolean {
    return this.#tenants.size > 1;
  }

  /** Stored name of the pool that a tenant means: its own one of the name, else the shared one. */
  poolOf(tenant: string, name: string): string {
    const own = ownedPool(tenant, name);
    return this.#pools.has(own) ? own : name;
  }

  /** Whether jobs of the tenant may name the pool. @param pool stored name */
  allowsPool(tenant: string, pool: string): boolean {
    const owner = ownerOfPool(pool);
    if (owner !== null) return owner === tenant;
    const pools = this.#tenants.get(tenant)?.pools ?? null;
    return pools === null || servesPool(pools, pool);
  }

  /** Name of the tenant to which a topic of requests is bound; null: to none. */
  tenantOfTopic(topic: string): string | null {
    return this.#topics.get(topic) ?? null;
  }

  /** @param isWhole whether to read the tenants although their version is the known one. @throws {StoreUnavailable} */
  async read(isWhole: boolean): Promise<void> {
    const version = await this.#store.version();
    if (version === this.#version && !isWhole) return;
    const [all, sources, pools] = await Promise.all([this.#store.all(), this.#store.sources(), this.#store.pools()]);
    this.#tenants = new Map(all.map((tenant) => [tenant.name, tenant]));
    this.#topics = new Map(sources.filter(isTopic).map(({ name, tenant }) => [name, tenant]));
    this.#pools = new Set(pools);
    this.#version = version;
    for (const changed of this.#listeners) changed(this.#tenants);
  }
}

function isTopic({ kind }: TenantSource): boolean {
  return kind === "TOPIC";
}

type Known = Pick<TenantRing, "get" | "allowsPool" | "poolOf">;

/** Pools as tenants name them. */
export type TenantPools = Pick<TenantRing, "allowsPool" | "poolOf">;

/** Tells which pool a tenant means by a name. @returns stored name of the pool */
export type PoolOf = (tenant: string, name: string) => string;

/** @param tenants left out: there is only `default`, and every pool is shared */
export function poolsBy(tenants: Pick<Known, "poolOf"> | undefined): PoolOf {
  return (tenant, name) => tenants?.poolOf(tenant, name) ?? name;
}

/** Whether jobs of a tenant may name a pool. @param tenants left out: there is only `default`, which may name every pool */
export function allowedBy(tenants: Pick<Known, "allowsPool"> | undefined): (tenant: string, pool: string) => boolean {
  return (tenant, pool) => tenants?.allowsPool(tenant, pool) ?? ownerOfPool(pool) === null;
}

/** Whether nothing more is taken of a tenant. */
export function isStoppedBy(tenants: Pick<Known, "get"> | undefined): (tenant: string) => boolean {
  return (tenant) => tenants !== undefined && tenants.get(tenant)?.state !== "ACTIVE" && !isOfOperators(tenant);
}
