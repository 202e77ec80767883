import { StoreUnusable } from "../../../ports/store.ts";
import type { Connections } from "../connection/connections.ts";

/** Schema of new stores. */
export const DEFAULT_SCHEMA = "mainspring";
/** Schema in which programs made their stores that knew no other one. */
export const FORMER_SCHEMA = "public";

/** Schema of the database in which the tables of a store are, or will be. */
export interface Home {
  schema: string;
  /** Whether there is no store yet. */
  isNew: boolean;
  /** Whether the store was found by the search path of the user, where programs that know no setting find it too. */
  isFormer: boolean;
}

/** A schema with a store in it. */
export interface FoundStore {
  schema: string;
  /** Position in the user's own search path; null: not in it. */
  position: number | null;
}

/** Several tables together: other programs have tables `jobs` and `schema_migrations` as well. */
const STORES = `
  SELECT n.nspname::text, array_position(current_schemas(false), n.nspname) FROM pg_namespace n
  WHERE has_schema_privilege(n.oid, 'USAGE') AND 5 = (
    SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND (c.relname::text, c.relkind::text) IN (
      ('schema_migrations', 'r'), ('jobs', 'p'), ('executions', 'p'), ('shards', 'r'), ('journal', 'r')))
  ORDER BY 2 NULLS LAST, 1`;

/** @param outside connections that go by the search path of the user */
export async function storesIn(outside: Connections): Promise<FoundStore[]> {
  const rows = await outside.run("maintain", { text: STORES });
  return rows.map(([schema, position]) => ({ schema, position }) as FoundStore);
}

const IS_VISIBLE = `SELECT $1::text = ANY(current_schemas(false)::text[])
  OR ($1::text = current_user::text AND current_setting('search_path') LIKE '%"$user"%')`;

/** Whether a schema is, or will be once it is made, in the search path of the user. */
export async function isVisible(outside: Connections, schema: string): Promise<boolean> {
  const [row] = await outside.run("maintain", { text: IS_VISIBLE, values: [schema] });
  return row?.[0] === true;
}

/** The store that programs find which know no setting. */
export function formerOf(stores: readonly FoundStore[]): FoundStore | undefined {
  return stores.find(({ position }) => position !== null);
}

/**
 * Where the store is. A store that is there stays where it is, and a second store in a database needs a name.
 * @param setting MAINSPRING_STORE_SCHEMA; null: not set
 * @throws {StoreUnusable} the setting may mean something else than what is there; says what to do
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
