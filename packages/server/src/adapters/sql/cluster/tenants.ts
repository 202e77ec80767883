import type { EpochMs } from "../../../domain/ids.ts";
import { QUOTAS, TENANTS_MAX, type TenantSettings, type TenantState } from "../../../domain/tenant.ts";
import type {
  ChangedTenant,
  NewTenant,
  StoredTenant,
  StoreTenants,
  TenantChange,
  TenantSource,
} from "../../../ports/store-tenants.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { RAISE_QUOTAS, RAISE_TENANTS } from "../commit/raised-levels.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";

const COLUMNS = {
  weight: "weight",
  maxRunning: "max_running",
  maxWaiting: "max_waiting",
  maxRecurring: "max_recurring",
  submitsPerSec: "submits_per_sec",
  requestsPerSec: "requests_per_sec",
  maxPayloadBytes: "max_payload_bytes",
  maxBatchBytes: "max_batch_bytes",
  retentionDays: "retention_days",
  pools: "pools",
} as const satisfies Record<keyof TenantSettings, string>;
const FIELDS = Object.keys(COLUMNS) as (keyof TenantSettings)[];
const NUMBERS = FIELDS.filter((field) => field !== "pools");

/** Parameter of `pools` from JSON. */
const poolsFrom = (parameter: string) =>
  `CASE WHEN ${parameter}::text IS NULL THEN NULL ELSE ARRAY(SELECT json_array_elements_text(${parameter}::json)) END`;

const READ = `SELECT name, state, created_at, updated_at, version, array_to_json(pools)::text,
  ${NUMBERS.map((field) => COLUMNS[field]).join(", ")} FROM tenants`;
const ALL = `${READ} WHERE state <> 'DELETED' ORDER BY name`;
const GET = `${READ} WHERE name = $1 AND state <> 'DELETED'`;

const VERSION = "SELECT version FROM tenants_version";
/** The row of the version is locked until the end of the transaction, so changes become visible in the order of their versions. */
const RAISE = "UPDATE tenants_version SET version = version + 1 RETURNING version";

const COUNT = "SELECT count(*) FROM tenants WHERE state <> 'DELETED'";
/** Rows of a former tenant of the name, which the retention has not removed yet. */
const LEFTOVERS = `SELECT EXISTS (SELECT FROM executions e WHERE e.tenant = $1 AND e.tenant <> 'default')
  OR EXISTS (SELECT FROM jobs j WHERE j.tenant = $1 AND j.tenant <> 'default')`;

const CREATE = `
  INSERT INTO tenants (name, state, created_at, updated_at, version, pools, ${NUMBERS.map((field) => COLUMNS[field]).join(", ")})
  VALUES ($1, 'ACTIVE', $2, $2, $3, ${poolsFrom("$4")}, ${NUMBERS.map((_, place) => `$${place + 5}`).join(", ")})
  ON CONFLICT (name) DO UPDATE SET state = 'ACTIVE', created_at = $2, updated_at = $2, version = $3, pools = excluded.pools,
    ${NUMBERS.map((field) => `${COLUMNS[field]} = excluded.${COLUMNS[field]}`).join(", ")}
  WHERE tenants.state = 'DELETED'`;

const DROP =
  "UPDATE tenants SET state = 'DELETED', updated_at = $2, version = $3 WHERE name = $1 AND state = 'DELETING'";
const FREE_SOURCES = "DELETE FROM tenant_sources WHERE tenant = $1";

const REVOKE_KEYS = `
  WITH v AS (UPDATE api_keys_version SET version = version + 1 RETURNING version)
  UPDATE api_keys k SET revoked_at = $2, version = v.version FROM v WHERE k.tenant = $1 AND k.revoked_at IS NULL`;

const POOLS = "SELECT name FROM pools WHERE owner IS NOT NULL ORDER BY name";
const FREE_POOLS = `DELETE FROM pools WHERE owner = $1
  AND NOT EXISTS (SELECT FROM tenants WHERE name = $1 AND state <> 'DELETED')`;

const SOURCES = "SELECT kind, name, tenant FROM tenant_sources ORDER BY kind, name";
const BIND = `INSERT INTO tenant_sources (kind, name, tenant) VALUES ($1, $2, $3)
  ON CONFLICT (kind, name) DO UPDATE SET tenant = excluded.tenant`;
const UNBIND = "DELETE FROM tenant_sources WHERE kind = $1 AND name = $2";

/** See StoreTenants. */
export function tenants(db: Connections, trail: AuditTrail): StoreTenants {
  return {
    version: async () => Number((await db.run("read", { name: "tenants_version", text: VERSION }))[0]?.[0]),
    all: async () => (await db.run("query", { text: ALL })).map(tenantFrom),
    get: async (name) => {
      const [row] = await db.run("query", { text: GET, values: [name] });
      return row === undefined ? null : tenantFrom(row);
    },
    create: (tenant, note) =>
      trail.transaction(
        "query",
        note,
        (session) => create(session, tenant),
        (answer) => answer === "CREATED",
      ),
    change: (name, asked, ifVersion, at, note) =>
      trail.transaction(
        "query",
        note,
        (session) => change(session, name, asked, ifVersion, at),
        ({ kind }) => kind === "CHANGED",
      ),
    drop: (name, at) =>
      db.transaction("query", async (session) => {
        await session.run({ text: DROP, values: [name, at, await raiseTenants(session)] });
        await session.run({ text: FREE_SOURCES, values: [name] });
        await session.run({ text: FREE_POOLS, values: [name] });
      }),
    revokeKeys: async (name, at) => {
      await db.run("query", { text: REVOKE_KEYS, values: [name, at] });
    },
    pools: async () => (await db.run("query", { text: POOLS })).map(([name]) => name as string),
    sources: async () => {
      const rows = (await db.run("query", { text: SOURCES })) as [TenantSource["kind"], string, string][];
      return rows.map(([kind, name, tenant]) => ({ kind, name, tenant }));
    },
    bind: ({ kind, name }, tenant, note) =>
      trail.transaction("query", note, async (session) => {
        await raiseTenants(session);
        if (tenant === null) await session.run({ text: UNBIND, values: [kind, name] });
        else await session.run({ text: BIND, values: [kind, name, tenant] });
      }),
  };
}

/** Raises the version of all tenants. @returns the version */
export async function raiseTenants(session: Session): Promise<number> {
  return Number((await session.run({ text: RAISE }))[0]?.[0]);
}

/** The level of the store rises with the tenant, so that no program that knows of no tenants opens it from then on. */
async function create(session: Session, tenant: NewTenant): ReturnType<StoreTenants["create"]> {
  // The version's row is locked first, so that two creations do not both see room for one more.
  const version = await raiseTenants(session);
  const [count] = await session.run({ text: COUNT });
  if (Number(count?.[0]) > TENANTS_MAX) return "FULL";
  const [leftovers] = await session.run({ text: LEFTOVERS, values: [tenant.name] });
  const [known] = await session.run({ text: GET, values: [tenant.name] });
  if (known !== undefined) return "EXISTS";
  if (leftovers?.[0] === true) return "LEFTOVERS";
  await session.run(RAISE_TENANTS);
  if (hasLimit(tenant)) await session.run(RAISE_QUOTAS);
  // A node that had not heard of the deletion may have written a pool since.
  await session.run({ text: FREE_POOLS, values: [tenant.name] });
  const { name, createdAt, pools } = tenant;
  const numbers = NUMBERS.map((field) => tenant[field]);
  await session.run({ text: CREATE, values: [name, createdAt, version, jsonOf(pools), ...numbers] });
  return "CREATED";
}

async function change(
  session: Session,
  name: string,
  asked: TenantChange,
  ifVersion: number | null,
  at: EpochMs,
): Promise<ChangedTenant> {
  const version = await raiseTenants(session);
  const [row] = await session.run({ text: GET, values: [name] });
  if (row === undefined) return { kind: "NOT_FOUND" };
  const known = tenantFrom(row);
  if (ifVersion !== null && ifVersion !== known.version) return { kind: "OTHER_VERSION", version: known.version };
  if (hasLimit(asked)) await session.run(RAISE_QUOTAS);
  const sets = ["updated_at = $2", "version = $3"];
  const values: unknown[] = [name, at, version];
  const set = (column: string, value: unknown, from = (parameter: string) => parameter) => {
    values.push(value);
    sets.push(`${column} = ${from(`$${values.length}`)}`);
  };
  if (asked.state !== undefined) set("state", asked.state);
  for (const field of NUMBERS) if (asked[field] !== undefined) set(COLUMNS[field], asked[field]);
  if (asked.pools !== undefined) set("pools", jsonOf(asked.pools), poolsFrom);
  await session.run({ text: `UPDATE tenants SET ${sets.join(", ")} WHERE name = $1`, values });
  const [changed] = await session.run({ text: GET, values: [name] });
  return { kind: "CHANGED", tenant: tenantFrom(changed as Row) };
}

/** Whether a node that knows neither quotas nor limits of attempts would pass a setting over. */
function hasLimit(settings: TenantChange): boolean {
  return [...QUOTAS, "maxRunning" as const].some((limit) => (settings[limit] ?? null) !== null);
}

function jsonOf(pools: readonly string[] | null): string | null {
  return pools === null ? null : JSON.stringify(pools);
}

function tenantFrom(row: Row): StoredTenant {
  type Start = [name: string, state: TenantState, createdAt: EpochMs, updatedAt: EpochMs, version: number];
  const [name, state, createdAt, updatedAt, version] = row as unknown as Start;
  const [pools, ...numbers] = row.slice(5) as [string | null, ...(number | null)[]];
  const settings = Object.fromEntries(NUMBERS.map((field, place) => [field, numbers[place] ?? null]));
  return {
    ...{ name, state, createdAt, updatedAt, version },
    ...(settings as unknown as Omit<TenantSettings, "pools">),
    pools: pools === null ? null : (JSON.parse(pools) as string[]),
  };
}
