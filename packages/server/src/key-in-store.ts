import type { ApiKeyKind } from "@mainspring/contract/enums";
import { addKeyToStore } from "./adapters/sql/cluster/key-in-store.ts";
import type { Connection } from "./adapters/sql/connection/connections.ts";
import { type StoreOf, withEmbedded, withTools } from "./move-store.ts";
import { newKey } from "./security/new-key.ts";
import { tenantOf } from "./security/tenant.ts";

/** A key of the store, with its text, which nothing keeps. */
export interface KeyInStore {
  keyId: string;
  key: string;
}

/**
 * Creates an API key in the store itself, without a server: whoever can write the store is its operator. Servers that run know the key
 * within a second. An embedded store must not be in use.
 * @throws {StoreUnusable} a node of the cluster is too old, or the store cannot be written
 * @throws {StoreUnavailable} PostgreSQL does not answer
 */
export async function createKeyInStore(
  config: StoreOf,
  { kind, name }: { kind: ApiKeyKind; name: string },
): Promise<KeyInStore> {
  return await withTools("keys", async (tools) => {
    const asked = { kind, name, tenant: tenantOf(null), createdBy: "store", expiresAt: null };
    const { key, text } = newKey(asked, tools.runtime);
    const add = (connection: Connection) => addKeyToStore({ ...tools, connection, schema: config.storeSchema }, key);
    await (config.store === "embedded" ? withEmbedded(config.dataDir, tools, add) : add(config.store));
    return { keyId: key.id, key: text };
  });
}
