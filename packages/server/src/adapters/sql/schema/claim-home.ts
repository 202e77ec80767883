import { StoreUnavailable, StoreUnusable } from "../../../ports/store.ts";
import { Claim, type ClaimOptions } from "../cluster/claim.ts";
import { type Connections, type ConnectionsOptions, searchPath } from "../connection/connections.ts";
import { explained } from "../connection/preflight.ts";
import { DEFAULT_SCHEMA, type Home, homeAmong, isVisible, storesIn } from "./home.ts";

export interface HomeOptions extends Omit<ConnectionsOptions, "schema">, Pick<ClaimOptions, "isShared"> {
  /** Value of MAINSPRING_STORE_SCHEMA; null, the default: not set. */
  schema?: string | null;
}

/**
 * Finds the store in the database, or chooses the schema of a new store, and claims it.
 * @param outside connections that use the user's search path
 * @throws {StoreUnusable} another server uses the store, or several stores are possible
 */
export async function claimHome(outside: Connections, options: HomeOptions): Promise<{ home: Home; claim: Claim }> {
  const { schema: setting = null, log } = options;
  const find = async () => homeAmong(await explained(() => storesIn(outside)), setting);
  const home = await find();
  const claim = new Claim({ ...options, ...home, isVisible: await isVisible(outside, home.schema) });
  await claim.take();
  try {
    // The store may have been moved during the wait for the claim.
    const { schema } = await find();
    if (schema !== home.schema) throw new StoreUnavailable(`The store was moved to the schema ${schema} just now`);
  } catch (error) {
    await claim.release();
    throw error;
  }
  if (home.isFormer) {
    const moving = `the store is in the schema ${home.schema} of PostgreSQL; \`mainspring store move-schema\` moves it to ${DEFAULT_SCHEMA} while all servers are stopped`;
    log.info(moving);
  }
  return { home, claim };
}

/**
 * Checks that session settings reach PostgreSQL.
 * @throws {StoreUnusable} a proxy drops settings of the session, so tables would be made in another schema
 */
export async function checkSearchPath(db: Connections, schema: string): Promise<void> {
  const [row] = await explained(() => db.run("maintain", { text: "SELECT current_setting('search_path')" }));
  if (row?.[0] === searchPath(schema)) return;
  throw new StoreUnusable(
    `The connection has the search_path ${row?.[0]} and not ${searchPath(schema)}: a pooler between must pass on the settings that come ` +
      "with a connection (options), as PgBouncer does only where a session has a server connection of its own; connect directly.",
  );
}
