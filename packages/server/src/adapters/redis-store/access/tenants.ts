import { levelOf } from "../../../domain/cluster/feature-level.ts";
import { DEFAULT_TENANT } from "../../../domain/ids.ts";
import { ownerOfPool } from "../../../domain/pool.ts";
import { QUOTAS, TENANT_DEFAULTS, TENANTS_MAX } from "../../../domain/tenant.ts";
import type {
  ChangedTenant,
  StoredTenant,
  StoreTenants,
  TenantChange,
  TenantSource,
} from "../../../ports/store-tenants.ts";
import type { AuditTrail } from "../audit-trail.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { revokeKeysOf } from "./keys.ts";
import { type Change, Versioned, type Write } from "./versioned.ts";

/** The tenant of the beginning, as long as nobody has changed it. */
const DEFAULT: StoredTenant = {
  ...{ ...TENANT_DEFAULTS, name: DEFAULT_TENANT, state: "ACTIVE", createdAt: 0, updatedAt: 0, version: 1 },
};

/** Tenants in the hash `t`, their sources in `ts`, and the version of both and of their pools in `tv`. See StoreTenants. */
export function tenants(db: RedisConnection, trail: AuditTrail): StoreTenants {
  const versioned = new Versioned(db, trail, "tv");
  return {
    version: () => versioned.version(),
    all: () => readAll(db),
    get: (name) => readOne(db, name),
    create: ({ name, createdAt, ...settings }, note) =>
      versioned.change(async (version): Promise<Change<"CREATED" | "EXISTS" | "FULL" | "LEFTOVERS">> => {
        const [count] = await db.call([["HLEN", db.key("t")]]);
        if (Number(count) > TENANTS_MAX) return { answer: "FULL", writes: [] };
        if ((await readOne(db, name)) !== null) return { answer: "EXISTS", writes: [] };
        const times = { createdAt, updatedAt: createdAt, version: version + 1 };
        const tenant: StoredTenant = { ...settings, name, state: "ACTIVE", ...times };
        return {
          answer: "CREATED",
          // A node that had not heard of the deletion may have written a pool since.
          writes: [...(await poolRemovals(db, name)), ["HSET", "t", name, JSON.stringify(tenant)]],
          level: levelOf(hasLimit(settings) ? "TENANT_QUOTAS" : "TENANTS"),
          unless: { keys: [`xb${name}`, `yb${name}`], answer: "LEFTOVERS" },
        };
      }, note),
    change: (name, asked, ifVersion, at, note) =>
      versioned.change(async (version): Promise<Change<ChangedTenant>> => {
        const known = await readOne(db, name);
        if (known === null) return { answer: { kind: "NOT_FOUND" }, writes: [] };
        if (ifVersion !== null && ifVersion !== known.version)
          return { answer: { kind: "OTHER_VERSION", version: known.version }, writes: [] };
        const named = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
        const tenant: StoredTenant = { ...known, ...named, updatedAt: at, version: version + 1 };
        const writes: Write[] = [["HSET", "t", name, JSON.stringify(tenant)]];
        const level = hasLimit(asked) ? { level: levelOf("TENANT_QUOTAS") } : {};
        return { answer: { kind: "CHANGED", tenant }, writes, ...level };
      }, note),
    drop: (name) =>
      versioned.change(
        async (): Promise<Change<void>> => {
          if ((await readOne(db, name))?.state !== "DELETING") return { answer: undefined, writes: [] };
          const own = (await readSources(db)).filter((source) => source.tenant === name);
          const sources = own.map((source): Write => ["HDEL", "ts", sourceField(source), ""]);
          const writes: Write[] = [...(await poolRemovals(db, name)), ...sources, ["HDEL", "t", name, ""]];
          return { answer: undefined, writes };
        },
        undefined,
        { isEnd: true },
      ),
    revokeKeys: (name, at) => revokeKeysOf(db, trail, name, at),
    pools: async () => (await poolNames(db)).filter((name) => ownerOfPool(name) !== null).sort(),
    sources: () => readSources(db),
    bind: (source, tenant, note) =>
      versioned.change(async (): Promise<Change<void>> => {
        const field = sourceField(source);
        return {
          answer: undefined,
          writes: [tenant === null ? ["HDEL", "ts", field, ""] : ["HSET", "ts", field, tenant]],
        };
      }, note),
  };
}

export async function readAll(db: RedisConnection): Promise<StoredTenant[]> {
  const [texts] = await db.call([["HVALS", db.key("t")]]);
  const stored = (texts as Buffer[]).map((text) => JSON.parse(String(text)) as StoredTenant);
  const all = stored.some(({ name }) => name === DEFAULT_TENANT) ? stored : [DEFAULT, ...stored];
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function readOne(db: RedisConnection, name: string): Promise<StoredTenant | null> {
  const [text] = await db.call([["HGET", db.key("t"), name]]);
  if (text != null) return JSON.parse(String(text)) as StoredTenant;
  return name === DEFAULT_TENANT ? DEFAULT : null;
}

export async function readSources(db: RedisConnection): Promise<TenantSource[]> {
  const [answer] = await db.call([["HGETALL", db.key("ts")]]);
  const texts = (answer as Buffer[]).map(String);
  const fields = texts.filter((_, i) => i % 2 === 0).sort();
  const tenantOf = new Map(fields.map((field) => [field, texts[texts.indexOf(field) + 1] as string]));
  return fields.map((field) => {
    const [kind, name] = JSON.parse(field) as [TenantSource["kind"], string];
    return { kind, name, tenant: tenantOf.get(field) as string };
  });
}

export function sourceField({ kind, name }: Pick<TenantSource, "kind" | "name">): string {
  return JSON.stringify([kind, name]);
}

async function poolNames(db: RedisConnection): Promise<string[]> {
  const [names] = await db.call([["HKEYS", db.key("po")]]);
  return (names as Buffer[]).map(String);
}

async function poolRemovals(db: RedisConnection, tenant: string): Promise<Write[]> {
  const own = (await poolNames(db)).filter((pool) => ownerOfPool(pool) === tenant);
  return own.map((pool) => ["HDEL", "po", pool, ""]);
}

/** Whether a program that knows no quotas would pass a setting over. */
function hasLimit(settings: TenantChange): boolean {
  return [...QUOTAS, "maxRunning" as const].some((limit) => (settings[limit] ?? null) !== null);
}
