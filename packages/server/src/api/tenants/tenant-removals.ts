import type { Logger } from "pino";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { StoreTenants } from "../../ports/store-tenants.ts";
import { tenantOf } from "../../security/tenant.ts";
import type { TenantRing } from "../../security/tenant-ring.ts";
import type { TenantStore, TenantStores } from "../../security/tenant-stores.ts";
import type { Commands } from "../commands.ts";

/** Interval in ms at which a node looks whether tenants are being deleted. */
const LOOK_EVERY_MS = 2_000;
/** Jobs, or webhooks, of one read. */
const PAGE = 200;
/** Largest number of jobs that one look deletes. */
const LOOK_JOBS = 1_000;

interface RemovalDependencies {
  stores: Pick<TenantStores, "of">;
  store: { readonly tenants: Pick<StoreTenants, "drop"> };
  tenants: Pick<TenantRing, "all">;
  commands: Pick<Commands, "pass">;
  runtime: Runtime;
  log: Logger;
}

/**
 * Deletes the jobs and webhooks of tenants that are DELETING, and cancels their executions, some at a time. Several nodes may do so
 * beside each other, and any node goes on where another one stopped. When nothing waits or runs any more, the tenant is gone. Its history
 * leaves with the retention.
 */
export class TenantRemovals {
  readonly #deps: RemovalDependencies;
  #timer: Timer | null = null;
  #isStopped = false;

  constructor(deps: RemovalDependencies) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = this.#deps.runtime.setTimer(LOOK_EVERY_MS, () => void this.#look());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const { tenants, log } = this.#deps;
    try {
      for (const { name, state } of tenants.all.values()) if (state === "DELETING") await this.#remove(tenantOf(name));
    } catch (error) {
      if (!(error instanceof StoreUnavailable))
        log.warn({ err: error }, "the api could not go on with the deletion of a tenant and tries again");
    }
    if (!this.#isStopped) this.start();
  }

  async #remove(tenant: Tenant): Promise<void> {
    const { stores, store, runtime } = this.#deps;
    const own = stores.of(tenant);
    for (const { id } of await own.webhooks.list(null, PAGE)) await own.webhooks.remove(id);
    if ((await this.#deleteJobs(own, "ACTIVE")) + (await this.#deleteJobs(own, "PAUSED")) > 0) return;
    const { waiting, ready, held, openRuns } = await own.queries.countExecutions(1);
    if (waiting + ready + held + (openRuns ?? 0) === 0) await store.tenants.drop(tenant, runtime.now());
  }

  /** @returns number of jobs that were deleted */
  async #deleteJobs(own: TenantStore, state: "ACTIVE" | "PAUSED"): Promise<number> {
    const { runtime, commands } = this.#deps;
    let deleted = 0;
    for (let after: string | null = null; deleted < LOOK_JOBS && !this.#isStopped; ) {
      const page = await own.queries.listJobs({ state }, { after, limit: PAGE });
      for (const { jobId } of page.items) {
        const about = { jobId, cancelRunning: true, commandId: () => runtime.uuid(), at: runtime.now() };
        const outcome = await own.deleteJob(about);
        if (outcome.kind === "DELETED") for (const command of outcome.commands) commands.pass(command);
        deleted++;
      }
      after = page.next;
      if (after === null) break;
    }
    return deleted;
  }
}
