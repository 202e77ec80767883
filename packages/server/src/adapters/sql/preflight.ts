import pg from "pg";
import { StoreUnusable } from "../../ports/store.ts";
import type { Connections } from "./connections.ts";
import { IsStandby } from "./primary.ts";

const OLDEST_VERSION = 14;

const STANDBY =
  "The server is a read-only standby: give the address of the primary, or of all servers (postgres://user@db1,db2/database).";

const FACTS = `SELECT current_setting('server_version_num')::int4, current_setting('server_encoding'),
  pg_is_in_recovery(), current_database()`;

/** SQLSTATEs of a connection that will not be made however often it is tried. */
const HOPELESS: Readonly<Record<string, string>> = {
  "28000": "check the user in MAINSPRING_STORE and pg_hba.conf",
  "28P01": "check the user and password in MAINSPRING_STORE",
  "3D000": "create the database, or correct its name in MAINSPRING_STORE",
  "42501": "grant the user what it needs: CONNECT on the database and CREATE on its schema",
};

/**
 * Whether this server can be the store, before anything in it is touched.
 * @throws {StoreUnusable} and why not
 */
export async function preflight(db: Connections): Promise<void> {
  const [row] = await explained(() => db.run("maintain", { text: FACTS }));
  const [version, encoding, standby, database] = row as [number, string, boolean, string];
  if (version < OLDEST_VERSION * 10_000) {
    const found = Math.floor(version / 10_000);
    throw new StoreUnusable(`PostgreSQL ${found} is too old: Mainspring needs ${OLDEST_VERSION} or newer.`);
  }
  if (encoding !== "UTF8") {
    throw new StoreUnusable(
      `The database ${database} has the encoding ${encoding}: make one with CREATE DATABASE … ENCODING 'UTF8'.`,
    );
  }
  if (standby) throw new StoreUnusable(STANDBY);
}

/** Runs what opens the store, and says what to do where trying again cannot help. */
export async function explained<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof Error && error.cause instanceof IsStandby) throw new StoreUnusable(STANDBY, { cause: error });
    const cause = error instanceof Error && error.cause instanceof pg.DatabaseError ? error.cause : error;
    const advice = cause instanceof pg.DatabaseError ? HOPELESS[cause.code ?? ""] : undefined;
    if (advice === undefined) throw error;
    throw new StoreUnusable(`PostgreSQL refused: ${(cause as Error).message}; ${advice}.`, { cause });
  }
}
