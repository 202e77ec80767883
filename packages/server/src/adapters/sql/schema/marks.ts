import pg from "pg";
import type { Connections, Session } from "../connection/connections.ts";

/** Name that the first migration of every program gives to an index, and no other program to anything. */
const VIEW = "executions_unsuccessful";
/** Table in which every program looks for the version of its store. */
const HISTORY = "schema_migrations";
/** Beginning of the comment on each mark. */
const COMMENT = "Mainspring: the store is in the schema";
/** Version and feature level that no program has. */
const BEYOND = 1_000_000;
/** Two nodes of a cluster must not make a mark at the same time. */
const MARK_LOCK = 7_303_014_006;

/** Schema in which a program makes a store that goes by the search path of the user. */
const FORMER_PLACE = `SELECT current_schema()::text
  WHERE has_schema_privilege(current_schema()::text, 'CREATE') AND to_regclass('${VIEW}') IS NULL`;

/**
 * Leaves a view where a program that knows no other schema would make a second store: that program fails with `relation
 * "executions_unsuccessful" already exists`, and changes nothing.
 * @param outside connections that go by the search path of the user
 */
export async function leaveView(outside: Connections, home: string): Promise<void> {
  await outside.transaction("maintain", async (session) => {
    await session.run({ text: `SELECT pg_advisory_xact_lock(${MARK_LOCK})` });
    const [found] = await session.run({ text: FORMER_PLACE });
    if (found === undefined || found[0] === home) return;
    const view = named(found[0] as string, VIEW);
    const note = pg.escapeLiteral(noteOn(home));
    await session.run({
      text: `CREATE VIEW ${view} AS SELECT ${note}::text AS note; COMMENT ON VIEW ${view} IS ${note}`,
    });
  });
}

/** Leaves a history where a store was: a program that knows no other schema finds a store that is too new for it, and says so. */
export async function leaveHistory(session: Session, place: string, home: string): Promise<void> {
  const [table, note] = [named(place, HISTORY), pg.escapeLiteral(noteOn(home))];
  await session.run({
    text: `CREATE TABLE ${table} (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now(),
        needs_level integer NOT NULL DEFAULT 1);
      INSERT INTO ${table} (version, name, needs_level) VALUES (${BEYOND}, ${note}, ${BEYOND});
      COMMENT ON TABLE ${table} IS ${note}`,
  });
}

/** Removes marks from a schema in which a store is about to be. */
export async function removeMarks(session: Session, place: string): Promise<void> {
  for (const [name, kind] of [
    [VIEW, "VIEW"],
    [HISTORY, "TABLE"],
  ] as const) {
    const text = "SELECT starts_with(obj_description(to_regclass($1), 'pg_class'), $2)";
    const [found] = await session.run({ text, values: [named(place, name), COMMENT] });
    if (found?.[0] === true) await session.run({ text: `DROP ${kind} ${named(place, name)}` });
  }
}

function noteOn(home: string): string {
  return `${COMMENT} ${home}; programs that would make a second one here stop at this mark`;
}

function named(schema: string, name: string): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}
