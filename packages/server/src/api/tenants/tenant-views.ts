import type { TenantBody } from "@mainspring/contract";
import type { Bus } from "../../ports/bus.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { StoreQueries } from "../../ports/store-queries.ts";
import type { StoredTenant, StoreTenants, TenantSource } from "../../ports/store-tenants.ts";
import type { Lacking } from "../feature-gate.ts";
import { ProblemError, problem } from "../http/errors.ts";
import { formatInstant } from "../http/instants.ts";

export interface TenantRoutes {
  store: { readonly tenants: StoreTenants; readonly queries: Pick<StoreQueries, "countExecutions"> };
  bus: Bus;
  runtime: Pick<Runtime, "now">;
  /** Reads changes of API keys and tenants from the store; left out: the node knows none of the store. */
  refreshKeys?: (() => Promise<void>) | undefined;
  lacking?: Lacking | undefined;
  /** Whether applications can submit in SQL; default: yes. */
  servesSql?: boolean;
}

export const tags = ["tenants"];
export const config = { scope: "system:admin" } as const;

/** @throws {ProblemError} 404 */
export async function known(tenants: Pick<StoreTenants, "get">, name: string): Promise<StoredTenant> {
  const found = await tenants.get(name);
  if (found === null) throw noSuchTenant();
  return found;
}

export function noSuchTenant(): ProblemError {
  return new ProblemError(problem("not-found", "there is no such tenant"));
}

export function tenantBody(tenant: StoredTenant, sources: readonly TenantSource[]): TenantBody {
  const { name, state, weight, pools, version, createdAt, updatedAt } = tenant;
  const { maxRunning, maxWaiting, maxRecurring, submitsPerSec, requestsPerSec, maxPayloadBytes, maxBatchBytes } =
    tenant;
  const own = sources.filter((source) => source.tenant === tenant.name);
  return {
    ...{ name, state, weight, version },
    pools: pools === null ? null : [...pools],
    ...{ maxRunning, maxWaiting, maxRecurring, submitsPerSec, requestsPerSec, maxPayloadBytes, maxBatchBytes },
    createdAt: formatInstant(createdAt),
    updatedAt: formatInstant(updatedAt),
    sources: own.map(({ kind, name }) => ({ kind, name })),
  };
}
