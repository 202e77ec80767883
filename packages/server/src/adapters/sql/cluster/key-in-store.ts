import { FEATURE_LEVEL, lackingNode } from "../../../domain/cluster/feature-level.ts";
import { AuditChain } from "../../../ports/audit-chain.ts";
import { StoreUnusable } from "../../../ports/store.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { NewApiKey } from "../../../ports/store-keys.ts";
import { AuditTrail } from "../audit/audit-trail.ts";
import { RaisedLevels } from "../commit/raised-levels.ts";
import { Connections, type ConnectionsOptions } from "../connection/connections.ts";
import { explained, preflight } from "../connection/preflight.ts";
import { homeAmong, storesIn } from "../schema/home.ts";
import { makePartitions } from "../schema/maintain.ts";
import { leaveView } from "../schema/marks.ts";
import { migrate } from "../schema/migrate.ts";
import { keys } from "./keys.ts";
import { sqlLeases } from "./leases.ts";

export interface KeyInStoreOptions extends Omit<ConnectionsOptions, "schema"> {
  /** Value of MAINSPRING_STORE_SCHEMA; null: not set. */
  schema: string | null;
}

/**
 * Adds an API key to a store without a server, while servers may use the store. A store that does not exist yet is created.
 * @returns false: the store is full of keys
 * @throws {StoreUnusable} a living node does not know of API keys, or the login does not suffice
 * @throws {StoreUnavailable} PostgreSQL does not answer
 */
export async function addKeyToStore(options: KeyInStoreOptions, key: NewApiKey, note: AuditNote): Promise<boolean> {
  const outside = new Connections({ ...options, schema: null });
  try {
    await preflight(outside, options.log);
    const home = homeAmong(await explained(() => storesIn(outside)), options.schema);
    const db = new Connections({ ...options, schema: home.schema });
    try {
      await explained(() => migrate(db, home.schema, FEATURE_LEVEL));
      if (home.isNew) await leaveView(outside, home.schema);
      await makePartitions(db, key.createdAt);
      await refuseOlderNodes(db);
      const trail = new AuditTrail(db, new AuditChain(options.runtime.uuid(), () => key.createdAt));
      return await keys(db, new RaisedLevels(db), trail).create(key, note);
    } finally {
      await db.close();
    }
  } finally {
    await outside.close();
  }
}

async function refuseOlderNodes(db: Connections): Promise<void> {
  const living = (await sqlLeases(db).list()).filter(({ isLiving }) => isLiving);
  const older = lackingNode(living, "API_KEYS");
  if (older !== null) {
    const node = `The node ${older.address} (${older.version})`;
    throw new StoreUnusable(
      `${node} has feature level ${older.level} and knows no API keys of the store: upgrade it first. No key was created.`,
    );
  }
}
