import { StoreUnusable } from "../../../ports/store.ts";
import { storeAddresses } from "../../../ports/store-address.ts";
import type { StoreTransfer } from "../../../ports/store-transfer.ts";
import { type Connection, Connections, type ConnectionsOptions, type Session } from "../connection/connections.ts";
import { explained, preflight } from "../connection/preflight.ts";
import { claimHome } from "../schema/claim-home.ts";
import { BEYOND } from "../schema/marks.ts";
import { KNOWN } from "../schema/migrate.ts";
import { checkNobodyLives, STOP_ALL } from "../schema/move-schema.ts";
import { SqlTransfer } from "./sql-transfer.ts";

export interface OpenSqlTransferOptions extends Omit<ConnectionsOptions, "schema"> {
  /** Value of MAINSPRING_STORE_SCHEMA; null: not set. */
  schema: string | null;
  /** Whether the store is the one to be filled, which may not exist yet. */
  isTarget: boolean;
  /** Name for people; null: the address. */
  name: string | null;
}

/**
 * Claims a store on PostgreSQL for a transfer.
 * @throws {StoreUnusable} a server uses it, there is none to read, or its schema is not that of this program
 * @throws {StoreUnavailable} PostgreSQL does not answer
 */
export async function openSqlTransfer(options: OpenSqlTransferOptions): Promise<StoreTransfer> {
  const outside = new Connections({ ...options, schema: null });
  try {
    await preflight(outside, options.log);
    const { home, claim } = await claimHome(outside, { ...options, isShared: false });
    const db = new Connections({ ...options, schema: home.schema });
    const name = options.name ?? nameOf(options.connection, home.schema);
    try {
      if (home.isNew && !options.isTarget)
        throw new StoreUnusable(`${name} has no store of Mainspring. Nothing was changed.`);
      if (!home.isNew) await explained(() => db.session("maintain", (session) => check(session, name)));
      return new SqlTransfer({ name, db, outside, claim, schema: home.schema, isNew: home.isNew });
    } catch (error) {
      await claim.release();
      await db.close();
      throw error;
    }
  } catch (error) {
    await outside.close();
    throw error;
  }
}

async function check(session: Session, name: string): Promise<void> {
  const [row] = await session.run({ text: `SELECT max(version) FROM schema_migrations WHERE version < ${BEYOND}` });
  const version = Number(row?.[0] ?? 0);
  if (version !== KNOWN)
    throw new StoreUnusable(
      `${name} has schema version ${version}, and this program moves version ${KNOWN}: start a server of this release on it once, ${STOP_ALL}`,
    );
  await checkNobodyLives(session);
}

/** Address without user and password. */
function nameOf(connection: Connection, schema: string): string {
  const [first] = (typeof connection === "string" ? storeAddresses(connection) : null) ?? [""];
  const url = URL.canParse(first) ? new URL(first) : null;
  const given = typeof connection === "string" ? {} : connection;
  const host = url?.searchParams.get("host") ?? url?.host ?? given.host ?? "localhost";
  const database = url?.pathname.slice(1) ?? given.database ?? "";
  return `PostgreSQL at ${host}${database === "" ? "" : `/${database}`}, schema ${schema}`;
}
