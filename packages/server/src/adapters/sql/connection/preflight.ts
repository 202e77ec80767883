import pg from "pg";
import type { Logger } from "pino";
import { StoreUnusable } from "../../../ports/store.ts";
import type { Connections } from "./connections.ts";
import { IsStandby } from "./primary.ts";
import { CONNECTIONS_MAX } from "./purposes.ts";

const OLDEST_VERSION = 14;

const STANDBY =
  "The server is a read-only standby: give the address of the primary, or of all servers (postgres://user@db1,db2/database).";

const FACTS = `SELECT current_setting('server_version_num')::int4, current_setting('server_encoding'),
  pg_is_in_recovery(), current_database()`;

/** SQLSTATEs of connections that fail however often they are tried, with advice. */
const HOPELESS: Readonly<Record<string, string>> = {
  "28000": "check the user in MAINSPRING_STORE and pg_hba.conf",
  "28P01": "check the user and password in MAINSPRING_STORE",
  "3D000": "create the database, or correct its name in MAINSPRING_STORE",
  "42501": "grant the user what it needs: CONNECT on the database, USAGE and CREATE on the schema of the store",
  "3F000": "grant the user USAGE and CREATE on the schema of the store",
  "42P07": "the schema has tables of another program: name another schema with MAINSPRING_STORE_SCHEMA",
};

/**
 * Checks whether this PostgreSQL can hold the store, before anything in it is changed.
 * @throws {StoreUnusable} it cannot; the message says why
 */
export async function preflight(db: Connections, log: Pick<Logger, "warn">): Promise<void> {
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
  await checkRoom(db, log);
}

/**
 * Number of connected nodes including this one, number of connections of other programs, and the limit of connections.
 */
const ROOM = `SELECT count(DISTINCT split_part(application_name, '/', 2)) FILTER (WHERE application_name LIKE 'mainspring/%')::int4,
  count(*) FILTER (WHERE application_name NOT LIKE 'mainspring/%')::int4,
  current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4
  FROM pg_stat_activity WHERE backend_type = 'client backend'`;

/** Warns if the nodes may run out of connections: such a node answers 503 under load, long after its start. */
async function checkRoom(db: Connections, log: Pick<Logger, "warn">): Promise<void> {
  const [row] = await db.run("maintain", { text: ROOM });
  const [nodes, others, room] = row as [number, number, number];
  const needed = nodes * CONNECTIONS_MAX + others;
  if (needed <= room) return;
  log.warn(
    { nodes, connectionsOfEachNode: CONNECTIONS_MAX, connectionsOfOthers: others, connectionsOfPostgres: room },
    "PostgreSQL has too few connections for its nodes: under load they answer 503; raise max_connections there",
  );
}

/** pg's message when a server has no TLS. */
const NO_TLS = "The server does not support SSL connections";
/** Codes for a certificate that is not trusted, is for another host, or is not valid now. */
const CERTIFICATE_CODES = /^(CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|ERR_TLS_CERT)/;

/** Advice for TLS that fails at every try; null: TLS is not the cause. */
function tlsAdvice(error: unknown): string | null {
  for (let reason = error; reason instanceof Error; reason = reason.cause) {
    if (reason.message.includes(NO_TLS)) {
      return "PostgreSQL has no TLS, and MAINSPRING_STORE asks for it: switch it on there (ssl = on), or leave sslmode out.";
    }
    if (CERTIFICATE_CODES.test((reason as NodeJS.ErrnoException).code ?? "")) {
      return `PostgreSQL's certificate is not accepted: ${reason.message}; name its authority by sslrootcert=FILE in MAINSPRING_STORE, and the server as the certificate does.`;
    }
  }
  return null;
}

/** Runs the function that opens the store, and adds advice to errors that a retry cannot fix. */
export async function explained<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof Error && error.cause instanceof IsStandby) throw new StoreUnusable(STANDBY, { cause: error });
    const tls = tlsAdvice(error);
    if (tls !== null) throw new StoreUnusable(tls, { cause: error });
    const cause = error instanceof Error && error.cause instanceof pg.DatabaseError ? error.cause : error;
    const advice = cause instanceof pg.DatabaseError ? HOPELESS[cause.code ?? ""] : undefined;
    if (advice === undefined) throw error;
    throw new StoreUnusable(`PostgreSQL refused: ${(cause as Error).message}; ${advice}.`, { cause });
  }
}
