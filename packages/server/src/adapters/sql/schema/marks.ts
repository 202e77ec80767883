import pg from "pg";
import { markOf, markText, type TransferMark } from "../../../ports/store-transfer.ts";
import type { Connections, Session } from "../connection/connections.ts";

/** Name that the first migration of every version of the program gives to an index, and no other program uses. */
const VIEW = "executions_unsuccessful";
/** Table in which every version of the program looks for the version of its store. */
const HISTORY = "schema_migrations";
/** Start of the comment on each mark. */
const COMMENT = "Mainspring: the store is in the schema";
/** Version and feature level above those of every program. */
export const BEYOND = 1_000_000;
/** Lock that keeps two nodes of a cluster from making a mark at the same time. */
const MARK_LOCK = 7_303_014_006;

/** Schema in which a program makes a store if it uses the user's search path. */
const FORMER_PLACE = `SELECT current_schema()::text
  WHERE has_schema_privilege(current_schema()::text, 'CREATE') AND to_regclass('${VIEW}') IS NULL`;

/**
 * Leaves a view where a program that does not know the setting would make a second store. That program then fails with
 * `relation "executions_unsuccessful" already exists`, and changes nothing.
 * @param outside connections that use the user's search path
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

/**
 * Leaves a history where a store was. A program that does not know the setting then finds a store that is too new for
 * it, and reports that.
 */
export async function leaveHistory(session: Session, place: string, home: string): Promise<void> {
  const [table, note] = [named(place, HISTORY), pg.escapeLiteral(noteOn(home))];
  await session.run({
    text: `CREATE TABLE ${table} (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now(),
        needs_level integer NOT NULL DEFAULT 1);
      INSERT INTO ${table} (version, name, needs_level) VALUES (${BEYOND}, ${note}, ${BEYOND});
      COMMENT ON TABLE ${table} IS ${note}`,
  });
}

/** Removes marks from a schema in which a store will be made. */
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

/**
 * The mark of a transfer. It is a version of the schema beyond that of every program, so that programs of earlier releases, too, refuse the
 * store.
 */
export async function readMark(session: Session): Promise<TransferMark | null> {
  const [exists] = await session.run({ text: `SELECT to_regclass('${HISTORY}') IS NOT NULL` });
  if (exists?.[0] !== true) return null;
  const [row] = await session.run({ text: `SELECT name FROM ${HISTORY} WHERE version = ${BEYOND}` });
  return row === undefined ? null : markOf(String(row[0]));
}

/** @param mark null: the store has none from then on */
export async function writeMark(session: Session, mark: TransferMark | null): Promise<void> {
  await session.run({ text: `DELETE FROM ${HISTORY} WHERE version = ${BEYOND}` });
  if (mark === null) return;
  await session.run({
    text: `INSERT INTO ${HISTORY} (version, name, needs_level) VALUES (${BEYOND}, $1, ${BEYOND})`,
    values: [markText(mark)],
  });
}

function noteOn(home: string): string {
  return `${COMMENT} ${home}; programs that would make a second one here stop at this mark`;
}

function named(schema: string, name: string): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`;
}
