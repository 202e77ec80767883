import type { ApiKeyKind } from "@mainspring/contract/enums";
import { openRedisStore } from "./adapters/redis-store/redis-store.ts";
import { addKeyToStore } from "./adapters/sql/cluster/key-in-store.ts";
import type { Connection } from "./adapters/sql/connection/connections.ts";
import { DEFAULT_TENANT } from "./domain/ids.ts";
import { type StoreOf, type Tools, withEmbedded, withTools } from "./move-store.ts";
import type { Config } from "./ops/config.ts";
import { StoreUnusable } from "./ports/store.ts";
import type { AuditNote } from "./ports/store-audit.ts";
import type { NewApiKey } from "./ports/store-keys.ts";
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
 * @throws {StoreUnusable} a node of the cluster is too old, the store is full of keys, or it cannot be written
 * @throws {StoreUnavailable} PostgreSQL, or the Redis that is the store, does not answer
 */
export async function createKeyInStore(
  config: StoreOf & Partial<Pick<Config, "redisStore">>,
  { kind, name }: { kind: ApiKeyKind; name: string },
): Promise<KeyInStore> {
  return await withTools("keys", async (tools) => {
    const asked = { kind, name, tenant: tenantOf(null), createdBy: "store", expiresAt: null };
    const { key, text } = newKey(asked, tools.runtime);
    const isAdded = await add(config, tools, key);
    if (!isAdded)
      throw new StoreUnusable(
        "The store has as many API keys as it takes: revoked ones leave after 90 days. No key was created.",
      );
    return { keyId: key.id, key: text };
  });
}

async function add(config: Parameters<typeof createKeyInStore>[0], tools: Tools, key: NewApiKey): Promise<boolean> {
  if (config.redisStore != null) {
    const store = await openRedisStore({ ...config.redisStore, runtime: tools.runtime, node: tools.runtime.uuid() });
    try {
      return await store.keys.create(key, noteOf(key));
    } finally {
      await store.close();
    }
  }
  const { store, storeSchema: schema, dataDir } = config;
  const addTo = (connection: Connection) => addKeyToStore({ ...tools, connection, schema }, key, noteOf(key));
  return await (store === "embedded" ? withEmbedded(dataDir, tools, addTo) : addTo(store));
}

/** The program that writes into the store has no key: it may do whatever the login of the store may do. */
function noteOf({ id, tenant, kind, scopes }: NewApiKey): AuditNote {
  return {
    ...{ tenant: tenant ?? DEFAULT_TENANT, actor: { kind: "SYSTEM", keyId: "store", for: null } },
    ...{ action: "createApiKey", target: id, outcome: "DONE", requestId: null, address: null },
    detail: { kind, scopes: [...scopes] },
  };
}
