import pg from "pg";
import { FEATURE_LEVEL } from "../../../domain/cluster/feature-level.ts";
import { StoreUnusable } from "../../../ports/store.ts";
import { markedStore } from "../../../ports/store-errors.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { lockKey } from "./locks.ts";
import { readMark, removeMarks } from "./marks.ts";
import { MIGRATIONS } from "./migrations/index.ts";

/** Number of a migration's advisory lock. Any number works that nothing else in the database uses. */
const MIGRATION_LOCK = lockKey(7_303_014_003);

/** Newest version that this program knows. */
export const KNOWN = MIGRATIONS.at(-1)?.version ?? 0;

/** First migration that the release before the one with TLS does not have. */
const FIRST_SINCE_TLS = 8;

const CREATE_HISTORY = `CREATE TABLE IF NOT EXISTS schema_migrations (
  version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;
/** Adds the feature level that each migration needs, which programs read that do not know the migration. */
const ADD_LEVELS = "ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS needs_level integer NOT NULL DEFAULT 1";

/**
 * Brings the schema to this program's version, forwards only. All missing migrations apply in one transaction, by one
 * program at a time. A newer schema stays as it is if a program of this level can work with it, so that a node that is
 * not upgraded yet can restart while other nodes are.
 * @param home schema of PostgreSQL that has, or will have, the store
 * @param level feature level of the program
 * @throws {StoreUnusable} the schema is too new for the program; nothing was changed
 */
export async function migrate(db: Connections, home: string, level: number = FEATURE_LEVEL): Promise<void> {
  await db.transaction("maintain", async (session) => {
    await prepare(session, home);
    const found = await foundVersion(session);
    if (found > KNOWN) {
      const mark = await readMark(session);
      if (mark !== null) throw markedStore(mark);
      if ((await neededLevel(session)) > level) throw tooNew(found);
      return;
    }
    await applyMissing(session, KNOWN);
  });
}

/** Applies missing migrations up to a version, within the caller's transaction. */
export async function applyMigrations(session: Session, home: string, until: number = KNOWN): Promise<void> {
  await prepare(session, home);
  await applyMissing(session, until);
}

async function applyMissing(session: Session, until: number): Promise<void> {
  await session.run({ text: CREATE_HISTORY });
  const done = await version(session);
  const missing = MIGRATIONS.filter(({ version }) => version > done && version <= until);
  if (missing.length > 0) await session.run({ text: ADD_LEVELS });
  for (const { version, name, sql, needsLevel = 1 } of missing) {
    await session.run({ text: sql });
    await session.run({
      text: "INSERT INTO schema_migrations (version, name, needs_level) VALUES ($1, $2, $3)",
      values: [version, name, needsLevel],
    });
  }
}

const HOME =
  "SELECT to_regnamespace($1) IS NOT NULL, has_database_privilege(current_database(), 'CREATE'), current_user::text";

/** Waits for other programs that migrate. */
async function prepare(session: Session, home: string): Promise<void> {
  await session.run({ text: `SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})` });
  await makeHome(session, home);
}

/**
 * Creates a schema of PostgreSQL for a store if it is missing.
 * @throws {StoreUnusable} the user may not create it; the message says who can
 */
export async function makeHome(session: Session, home: string): Promise<void> {
  const schema = pg.escapeIdentifier(home);
  const [row] = await session.run({ text: HOME, values: [schema] });
  const [exists, mayCreate, user] = row as [boolean, boolean, string];
  if (!exists && !mayCreate) {
    throw new StoreUnusable(
      `The user ${user} may not make the schema ${home}: let the owner of the database run CREATE SCHEMA ${schema} AUTHORIZATION ` +
        `${pg.escapeIdentifier(user)}, or name a schema in which the user may make tables with MAINSPRING_STORE_SCHEMA.`,
    );
  }
  if (exists) await removeMarks(session, home);
  else await session.run({ text: `CREATE SCHEMA ${schema}` });
}

/**
 * Version of the existing schema; 0: none.
 * @throws {StoreUnusable} the schema is newer than the program
 */
export async function schemaVersion(session: Session): Promise<number> {
  const found = await foundVersion(session);
  if (found > KNOWN) throw tooNew(found);
  return found;
}

async function foundVersion(session: Session): Promise<number> {
  const [exists] = await session.run({ text: "SELECT to_regclass('schema_migrations') IS NOT NULL" });
  return exists?.[0] === true ? version(session) : 0;
}

async function version(session: Session): Promise<number> {
  const [row] = await session.run({ text: "SELECT coalesce(max(version), 0)::int4 FROM schema_migrations" });
  return row?.[0] as number;
}

/**
 * Whether a program that knows TLS made the store, and did not find one of an earlier release. All migrations of a new
 * store apply in one transaction, which gives them the same time.
 */
export async function isSinceTls(session: Session): Promise<boolean> {
  const text = "SELECT count(DISTINCT applied_at) = 1 FROM schema_migrations WHERE version IN (1, $1)";
  const [row] = await session.run({ text, values: [FIRST_SINCE_TLS] });
  return row?.[0] === true;
}

/** Feature level that migrations newer than this program need. */
async function neededLevel(session: Session): Promise<number> {
  const text = "SELECT coalesce(max(needs_level), 1)::int4 FROM schema_migrations WHERE version > $1";
  const [row] = await session.run({ text, values: [KNOWN] });
  return row?.[0] as number;
}

function tooNew(found: number): StoreUnusable {
  return new StoreUnusable(
    `The database has schema version ${found}, which is newer than this program's ${KNOWN}, and asks for newer programs: ` +
      "start the version of Mainspring that made it, or a newer one. Nothing was changed.",
  );
}
