import { StoreUnusable } from "../../ports/store.ts";
import type { Connections, Session } from "./connections.ts";
import { MIGRATIONS } from "./migrations/index.ts";

/** What the session locks while it migrates; any number that nobody else in the database uses. */
const MIGRATION_LOCK = 7_303_014_003;

const CREATE_HISTORY = `CREATE TABLE IF NOT EXISTS schema_migrations (
  version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;

/**
 * Brings the schema to this program's version, forwards only. All that is missing is done at once or not at all, and by
 * one program at a time.
 * @throws {StoreUnusable} the schema is newer than the program; nothing was touched
 */
export async function migrate(db: Connections): Promise<void> {
  await db.transaction("maintain", async (session) => {
    await schemaVersion(session);
    await applyMigrations(session, MIGRATIONS.length);
  });
}

/** Applies what is missing up to a version, within a transaction of the caller's. */
export async function applyMigrations(session: Session, until: number): Promise<void> {
  await session.run({ text: "SELECT pg_advisory_xact_lock($1)", values: [MIGRATION_LOCK] });
  await session.run({ text: CREATE_HISTORY });
  const done = await version(session);
  for (const { version, name, sql } of MIGRATIONS) {
    if (version <= done || version > until) continue;
    await session.run({ text: sql });
    await session.run({
      text: "INSERT INTO schema_migrations (version, name) VALUES ($1, $2)",
      values: [version, name],
    });
  }
}

/**
 * The version of the schema that is there; 0: none.
 * @throws {StoreUnusable} it is newer than the program
 */
export async function schemaVersion(session: Session): Promise<number> {
  const [exists] = await session.run({ text: "SELECT to_regclass('schema_migrations') IS NOT NULL" });
  if (exists?.[0] !== true) return 0;
  const [found, known] = [await version(session), MIGRATIONS.length];
  if (found <= known) return found;
  throw new StoreUnusable(
    `The database has schema version ${found}, which is newer than this program's ${known}: ` +
      "start the version of Mainspring that made it, or a newer one. Nothing was changed.",
  );
}

async function version(session: Session): Promise<number> {
  const [row] = await session.run({ text: "SELECT coalesce(max(version), 0)::int4 FROM schema_migrations" });
  return row?.[0] as number;
}
