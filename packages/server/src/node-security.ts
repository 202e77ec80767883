import type { Logger } from "pino";
import { hasCluster } from "./adapters/embedded/cluster.ts";
import { exposures } from "./ops/combination-faults.ts";
import { type Config, ConfigError } from "./ops/config.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import { patiently } from "./patience.ts";
import type { Authenticator } from "./ports/authenticator.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { Store } from "./ports/store.ts";
import { KeyAuthenticator } from "./security/key-authenticator.ts";
import { KeyRing } from "./security/key-ring.ts";
import { SettingsKeys } from "./security/settings-keys.ts";
import { TenantRing } from "./security/tenant-ring.ts";
import { UsedKeys } from "./security/used-keys.ts";

export interface NodeSecurity {
  authenticator: Authenticator;
  tenants: TenantRing;
  /** Reads changes of API keys and tenants from the store now. Never throws. */
  refreshKeys(): Promise<void>;
}

interface SecurityParts {
  config: Config;
  /** Its `now` is the store's clock. */
  runtime: Runtime;
  log: Logger;
  life: Lifecycle;
  store: Pick<Store, "keys" | "tenants">;
}

/**
 * Refuses to start a server beyond loopback on an embedded store that does not exist yet, and so has no key.
 * @throws {ConfigError}
 */
export async function refuseNewExposed(config: Config): Promise<void> {
  if (config.store === "embedded" && !(await hasCluster(config.dataDir))) refuseExposed(config);
}

function refuseExposed(config: Config): void {
  const faults = exposures(config);
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
}

/**
 * Reads the API keys of the store, and judges callers by them and by those of the settings, until the node stops.
 * @throws {ConfigError} the node listens beyond loopback, and there is no key at all
 */
export async function secureNode(parts: SecurityParts): Promise<NodeSecurity> {
  const { config, runtime, log, life, store } = parts;
  const tenants = new TenantRing(store.tenants);
  const ring = new KeyRing({ store: store.keys, tenants, runtime, log });
  await patiently("the API keys", () => ring.start(), parts);
  const used = new UsedKeys({ store: store.keys, runtime, log });
  life.started("API keys", async () => {
    ring.stop();
    await used.flush();
  });
  if (!ring.hasKeys) refuseExposed(config);
  const settings = new SettingsKeys(config);
  const authenticator = new KeyAuthenticator({
    ...{ settings, ring, tenants, used, runtime },
    staleMs: config.keysStaleSec * 1_000,
  });
  return { authenticator, tenants, refreshKeys: () => ring.refresh() };
}
