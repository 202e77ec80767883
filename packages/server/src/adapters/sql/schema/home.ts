import { StoreUnusable } from "../../../ports/store.ts";
import type { Connections } from "../connection/connections.ts";

/** Default schema of new stores. */
export const DEFAULT_SCHEMA = "mainspring";
/** Schema of stores made by programs that do not know the setting of a schema. */
export const FORMER_SCHEMA = "public";

/** Schema of the database that has, or will have, the tables of a store. */
export interface Home {
  schema: string;
  /** Whether there is no store yet. */
  isNew: boolean;
  /** Whether the user's search path finds the store, so that programs that do not know the setting find it too. */
  isFormer: boolean;
}

/** A schema that contains a store. */
export interface FoundStore {
  schema: string;
  /** Position of the schema in the user's search path; null: not in it. */
  position: number | null;
}

/** Finds stores by several tables together, because other programs have tables `jobs` and `schema_migrations` too. */
const STORES = `
  SELECT n.nspname::text, array_position(current_schemas(false), n.nspname) FROM pg_namespace n
  WHERE has_schema_privilege(n.oid, 'USAGE') AND 5 = (
    SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND (c.relname::text, c.relkind::text) IN (
      ('schema_migrations', 'r'), ('jobs', 'p'), ('executions', 'p'), ('shards', 'r'), ('journal', 'r')))
  ORDER BY 2 NULLS LAST, 1`;

/** @param outside connections that use the user's search path */
export async function storesIn(outside: Connections): Promise<FoundStore[]> {
  const rows = await outside.run("maintain", { text: STORES });
  return rows.map(([schema, position]) => ({ schema, position }) as FoundStore);
}

const IS_VISIBLE = `SELECT $1::text = ANY(current_schemas(false)::text[])
  OR ($1::text = current_user::text AND current_setting('search_path') LIKE '%"$user"%')`;

/** Whether a schema is in the user's search path, or will be once it exists. */
export async function isVisible(outside: Connections, schema: string): Promise<boolean> {
  const [row] = await outside.run("maintain", { text: IS_VISIBLE, values: [schema] });
  return row?.[0] === true;
}

/** The store that programs find which do not know the setting of a schema. */
export function formerOf(stores: readonly FoundStore[]): FoundStore | undefined {
  return stores.find(({ position }) => position !== null);
}

/**
 * Chooses the schema of the store. An existing store stays where it is, and a second store in a database needs a name.
 * @param setting value of MAINSPRING_STORE_SCHEMA; null: not set
 * @throws {StoreUnusable} the setting does not fit the existing stores; the message says what to do
 */
export function homeAmong(stores: readonly FoundStore[], setting: string | null): Home {
  const schema = setting ?? DEFAULT_SCHEMA;
  if (stores.some((store) => store.schema === schema)) return { schema, isNew: false, isFormer: false };
  const former = formerOf(stores);
  if (former !== undefined && schema === DEFAULT_SCHEMA) {
    return { schema: former.schema, isNew: false, isFormer: true };
  }
  if (former?.schema === FORMER_SCHEMA) throw notMoved(schema);
  if (setting === null && stores.length > 0) throw unnamed(stores);
  return { schema, isNew: true, isFormer: false };
}

function notMoved(schema: string): StoreUnusable {
  return new StoreUnusable(
    `The database has a store in the schema ${FORMER_SCHEMA}, and MAINSPRING_STORE_SCHEMA says ${schema}: stop all servers and run ` +
      `\`mainspring store move-schema\`, which brings it there, or set MAINSPRING_STORE_SCHEMA=${FORMER_SCHEMA} to leave it. Nothing was changed.`,
  );
}

function unnamed(stores: readonly FoundStore[]): StoreUnusable {
  const names = stores.map(({ schema }) => schema).join(", ");
  return new StoreUnusable(
    `The database has a store in the schema ${names}, and none in ${DEFAULT_SCHEMA}: name the one that is meant with ` +
      "MAINSPRING_STORE_SCHEMA, or a new schema for a second store. Nothing was changed.",
  );
}
