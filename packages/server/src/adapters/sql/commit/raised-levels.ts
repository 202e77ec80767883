import { levelOf } from "../../../domain/cluster/feature-level.ts";
import type { Connections } from "../connection/connections.ts";

/** Features whose rows programs of an older level would misread, and the migration that made room for these rows. */
const MIGRATIONS = {
  DURABLE_STEPS: "steps",
  WORKFLOWS: "workflows",
  SPAWNED_NODES: "parts",
  EVENTS: "events",
  WEBHOOKS: "webhooks",
  API_KEYS: "api keys",
  TENANTS: "tenants",
  TENANT_QUOTAS: "tenant quotas",
  OWNED_POOLS: "owned pools",
  WORKER_CERTIFICATES: "worker certificates",
} as const;
type RaisingFeature = keyof typeof MIGRATIONS;

const RAISE = "UPDATE schema_migrations SET needs_level = $1 WHERE name = $2 AND needs_level < $1";

/** Raises the level in the transaction that writes a tenant. */
export const RAISE_TENANTS = { text: RAISE, values: [levelOf("TENANTS"), MIGRATIONS.TENANTS] };
/** Raises the level in the transaction that writes a pool of a tenant. */
export const RAISE_OWNED_POOLS = { text: RAISE, values: [levelOf("OWNED_POOLS"), MIGRATIONS.OWNED_POOLS] };
/** Raises the level in the transaction that writes a key whose workers need a certificate. */
export const RAISE_WORKER_CERTIFICATES = {
  text: RAISE,
  values: [levelOf("WORKER_CERTIFICATES"), MIGRATIONS.WORKER_CERTIFICATES],
};

/** Raises the level in the transaction that gives a tenant a quota, or a limit of attempts. */
export const RAISE_QUOTAS = { text: RAISE, values: [levelOf("TENANT_QUOTAS"), MIGRATIONS.TENANT_QUOTAS] };

/**
 * Keeps programs of an older feature level from opening the store: they would repeat steps that are recorded, drop signals, leave
 * runs of workflows alone, show pools of tenants to others, write neither lifecycle events nor webhooks, and ask nobody for a key of the store.
 */
export class RaisedLevels {
  readonly #db: Connections;
  readonly #raised = new Set<RaisingFeature>();

  constructor(db: Connections) {
    this.#db = db;
  }

  /** Raises the level, in a transaction of its own. Comes before every write of the feature; only the first one costs a statement. */
  async raise(feature: RaisingFeature): Promise<void> {
    if (this.#raised.has(feature)) return;
    await this.#db.run("maintain", { text: RAISE, values: [levelOf(feature), MIGRATIONS[feature]] });
    this.#raised.add(feature);
  }
}
