import pg from "pg";
import { StoreUnusable } from "../../../ports/store.ts";
import { Claim } from "../cluster/claim.ts";
import { Connections, type ConnectionsOptions, type Session } from "../connection/connections.ts";
import { isLockTimeout } from "../connection/errors.ts";
import { explained, preflight } from "../connection/preflight.ts";
import { DEFAULT_SCHEMA, FORMER_SCHEMA, type FoundStore, formerOf, isVisible, storesIn } from "./home.ts";
import { leaveHistory } from "./marks.ts";
import { applyMigrations, makeHome, schemaVersion } from "./migrate.ts";
import { PARTITIONED, PARTITIONS } from "./partitions.ts";

export interface MoveSchemaOptions extends Omit<ConnectionsOptions, "schema"> {
  /** Schema to move from; null: the schema in which a program finds the store without the setting. */
  from: string | null;
  /** Value of MAINSPRING_STORE_SCHEMA; null: not set. */
  schema: string | null;
}

export interface MovedSchema {
  /** Schema from which the store was moved; null: the store was there already. */
  from: string | null;
  to: string;
  /** Number of tables that were moved, partitions included. */
  tables: number;
}

interface Way {
  from: string;
  to: string;
  /** Whether programs that do not know the setting cannot find the store there. */
  isHidden: boolean;
}

/** Tables of a store at the newest version, without partitions. Indexes and types move with their table. */
const TABLES = [
  ...["schema_migrations", "jobs", "executions", "shards", "journal", "commands", "idempotency_keys", "unique_keys"],
  ...["pools", "dead_letter_runs", "execution_runs", "job_payloads", "nodes", "plans", "job_names", "skips"],
  ...["tzdata_versions", "tzdata_changeovers", "handler_policies", "execution_steps", "attempt_logs"],
  ...["signals", "workflow_graphs", "workflow_payloads", "workflow_runs"],
  ...["workflow_parts", "workflow_part_payloads"],
  ...["outbox", "event_inbox", "event_floors", "event_sinks"],
  ...["webhooks", "webhook_deliveries", "job_requests"],
  ...["ingest_positions", "ingest_records", "ingest_refusals", "api_keys", "api_keys_version"],
  ...["audit", "audit_anchors", "audit_sealed"],
  ...["tenants", "tenants_version", "tenant_sources", "quota_levels", "quota_places"],
];
/** Functions whose settings name the schema. */
const BOUND_FUNCTIONS = ["mainspring_submit(jsonb, text, text)", "mainspring_submit_batch(jsonb, text[], text)"];
const FUNCTIONS = ["label_terms(text)", "recurrence_type(text)", ...BOUND_FUNCTIONS];

const LIVING = `SELECT name, ceil(extract(epoch FROM expires_at - statement_timestamp()))::int4 FROM nodes
  WHERE expires_at > statement_timestamp() ORDER BY expires_at DESC LIMIT 1`;

export const STOP_ALL = "stop all servers of the store, and run this again. Nothing was changed.";

/**
 * Moves a store to another schema of the same database, all of it or nothing, while no server uses it. Safe to repeat.
 * @throws {StoreUnusable} a server uses the store, there is none, or the schema cannot take it; the message says what to do
 * @throws {StoreUnavailable} PostgreSQL does not answer
 */
export async function moveSchema(options: MoveSchemaOptions): Promise<MovedSchema> {
  const to = options.schema ?? DEFAULT_SCHEMA;
  const outside = new Connections({ ...options, schema: null });
  try {
    await preflight(outside, options.log);
    const source = sourceOf(await explained(() => storesIn(outside)), options.from, to);
    if (source === null) return { from: null, to, tables: 0 };
    const way = { from: source.schema, to, isHidden: !(await isVisible(outside, to)) };
    return await claimed(options, [source, { schema: to, position: null }], () => move(options, way));
  } finally {
    await outside.close();
  }
}

/** @returns store to move; null: the store is already in the right schema */
function sourceOf(stores: readonly FoundStore[], from: string | null, to: string): FoundStore | null {
  const others = stores.filter(({ schema }) => schema !== to);
  const source = from === null ? formerOf(others) : others.find(({ schema }) => schema === from);
  const isThere = stores.some(({ schema }) => schema === to);
  if (source === undefined && isThere) return null;
  if (source !== undefined && isThere) {
    throw new StoreUnusable(
      `The schemas ${source.schema} and ${to} both have a store: one schema has one. Nothing was changed.`,
    );
  }
  if (source !== undefined) return source;
  const found =
    others.length === 0 ? "" : `; there is one in ${others.map(({ schema }) => schema).join(", ")} (--from)`;
  throw new StoreUnusable(`There is no store to move in ${from ?? "the schemas that the user looks into"}${found}.`);
}

/** Runs work while holding the claims to both schemas, so that no server starts meanwhile. */
async function claimed<T>(
  options: MoveSchemaOptions,
  schemas: readonly FoundStore[],
  use: () => Promise<T>,
): Promise<T> {
  const claims = schemas.map(
    ({ schema, position }) => new Claim({ ...options, schema, isFormer: position !== null, advice: STOP_ALL }),
  );
  try {
    for (const claim of claims) await claim.take();
    return await use();
  } finally {
    for (const claim of claims) await claim.release();
  }
}

async function move(options: MoveSchemaOptions, way: Way): Promise<MovedSchema> {
  const db = new Connections({ ...options, schema: way.from });
  try {
    return await explained(() => db.transaction("maintain", (session) => moveWithin(session, way)));
  } catch (error) {
    const reasons = error instanceof Error ? [error, error.cause] : [];
    if (!reasons.some(isLockTimeout)) throw error;
    const advice = "end that (a backup, psql), and run this again. Nothing was changed.";
    throw new StoreUnusable(`Another session uses a table of the store: ${advice}`, { cause: error });
  } finally {
    await db.close();
  }
}

async function moveWithin(session: Session, { from, to, isHidden }: Way): Promise<MovedSchema> {
  // The list of tables applies only to the newest version.
  await schemaVersion(session);
  await applyMigrations(session, from);
  await checkNobodyLives(session);
  await makeHome(session, to);
  const [source, target] = [pg.escapeIdentifier(from), pg.escapeIdentifier(to)];
  const tables = [...(await partitions(session)), ...TABLES.map((name) => `${source}.${name}`)];
  for (const table of tables) await session.run({ text: `ALTER TABLE ${table} SET SCHEMA ${target}` });
  for (const name of FUNCTIONS) await session.run({ text: `ALTER FUNCTION ${source}.${name} SET SCHEMA ${target}` });
  for (const name of BOUND_FUNCTIONS)
    await session.run({ text: `ALTER FUNCTION ${target}.${name} SET search_path = ${target}, pg_temp` });
  if (isHidden) await leaveHistory(session, from, to);
  if (from !== FORMER_SCHEMA) await dropEmpty(session, from);
  return { from, to, tables: tables.length };
}

/** @throws {StoreUnusable} a node has a lease: it may have lost its connections, and come back */
export async function checkNobodyLives(session: Session): Promise<void> {
  const [living] = await session.run({ text: LIVING });
  if (living === undefined) return;
  const [name, seconds] = living as [string, number];
  throw new StoreUnusable(`The lease of the node ${name} has ${seconds} s left: ${STOP_ALL}`);
}

/** Names of the partitions that work from this session, whichever schema they are in. */
async function partitions(session: Session): Promise<string[]> {
  const names: string[] = [];
  for (const table of PARTITIONED) {
    for (const [name] of await session.run({ text: PARTITIONS, values: [table] })) names.push(name as string);
  }
  return names;
}

/**
 * Drops a schema if it is empty. An empty schema at the front of a user's search path would receive the tables of that
 * user's other programs.
 */
async function dropEmpty(session: Session, schema: string): Promise<void> {
  await session.run({ text: "SAVEPOINT whole" });
  try {
    await session.run({ text: `DROP SCHEMA ${pg.escapeIdentifier(schema)}` });
  } catch {
    await session.run({ text: "ROLLBACK TO whole" });
  }
}
