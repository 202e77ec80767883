import type { Logger } from "pino";
import { hasCluster } from "./adapters/embedded/cluster.ts";
import { OidcIssuer } from "./adapters/oidc/oidc-issuer.ts";
import { noteOfStart, signerOf } from "./node-audit.ts";
import { exposures } from "./ops/combination-faults.ts";
import { type Config, ConfigError } from "./ops/config.ts";
import type { Lifecycle } from "./ops/lifecycle.ts";
import { patiently } from "./patience.ts";
import type { Authenticator } from "./ports/authenticator.ts";
import type { Bus } from "./ports/bus.ts";
import type { Readings } from "./ports/metrics.ts";
import type { Refusals } from "./ports/refusals.ts";
import type { Runtime } from "./ports/runtime.ts";
import type { Store } from "./ports/store.ts";
import { CountedRefusals } from "./security/counted-refusals.ts";
import { KeyAuthenticator } from "./security/key-authenticator.ts";
import { KeyRing } from "./security/key-ring.ts";
import { SettingsKeys } from "./security/settings-keys.ts";
import { TenantRing } from "./security/tenant-ring.ts";
import { IssuerKeys } from "./security/tokens/issuer-keys.ts";
import { TokenJudge } from "./security/tokens/token-judge.ts";
import { UsedKeys } from "./security/used-keys.ts";

export interface NodeSecurity {
  authenticator: Authenticator;
  tenants: TenantRing;
  /** Counts refusals for the audit log. */
  refusals: Refusals;
  /** Reads changes of API keys and tenants from the store now. Never throws. */
  refreshKeys(): Promise<void>;
  readings(): Readings;
}

interface SecurityParts {
  config: Config;
  /** Its `now` is the store's clock. */
  runtime: Runtime;
  log: Logger;
  life: Lifecycle;
  store: Pick<Store, "keys" | "audit" | "tenants">;
  bus: Pick<Bus, "node">;
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
  const refusals = new CountedRefusals({ audit: store.audit, runtime, log });
  life.started("API keys", async () => {
    ring.stop();
    await used.flush();
    await refusals.flush();
  });
  if (!ring.hasKeys) refuseExposed(config);
  // A key that cannot sign is a fault of the settings, and not one of the first anchor.
  signerOf(config.audit.keyFile);
  await patiently("the audit log", () => store.audit.write([noteOfStart(config, parts.bus.node)]), parts);
  const settings = new SettingsKeys(config);
  const staleMs = config.keysStaleSec * 1_000;
  const tokens = tokenJudge(parts, tenants);
  const authenticator = new KeyAuthenticator({ settings, ring, tenants, used, tokens, runtime, staleMs });
  return {
    ...{ authenticator, tenants, refusals },
    refreshKeys: () => ring.refresh(),
    readings: () => ({
      callersRefused: authenticator.refused,
      ...(tokens !== null && { tokenIssuerUp: tokens.isReached ? 1 : 0 }),
    }),
  };
}

/** Judge of tokens, which knows the keys of the issuer until the node stops; null: there is no issuer. */
function tokenJudge({ config, runtime, log, life }: SecurityParts, tenants: TenantRing): TokenJudge | null {
  if (config.tokens === null) return null;
  const { issuer, ...rules } = config.tokens;
  const keys = new IssuerKeys({ issuer: new OidcIssuer(issuer, runtime), rules, runtime, log });
  life.started("keys of the issuer of tokens", async () => keys.stop());
  keys.start();
  const isTenant = (name: string) => tenants.get(name) !== undefined;
  return new TokenJudge({ issuer, rules, keys, isTenant, runtime, log });
}
