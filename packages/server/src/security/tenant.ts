import { createHash } from "node:crypto";
import { DEFAULT_TENANT } from "../domain/ids.ts";
import { ownerOfPool } from "../domain/pool.ts";
import type { Tenant } from "../ports/authenticator.ts";

/**
 * The tenant of a credential. Only the security module makes tenants, so a tenant in a handler always comes from the credential of its caller.
 * @param name tenant of a key; null: the key is one of operators, who act for the tenant `default`
 */
export function tenantOf(name: string | null): Tenant {
  return (name ?? DEFAULT_TENANT) as Tenant;
}

/**
 * Whether the tenant is `default`, the one of the operators: shared pools, their workers and the figures of the servers are
 * shown to it as a whole, and to other tenants only as far as they are about their own work.
 */
export function isOfOperators(tenant: string): boolean {
  return tenant === DEFAULT_TENANT;
}

/** Whether a tenant sees the workers of a pool: those of its own pools, and operators those of shared ones. @param pool stored name */
export function seesWorkersOf(tenant: string, pool: string): boolean {
  return (ownerOfPool(pool) ?? DEFAULT_TENANT) === tenant;
}

/**
 * Id of a worker as a tenant sees it: workers of shared pools are the operators', so other tenants see a text that tells workers
 * apart and says nothing else. It is another one for each tenant. A tenant sees the ids of the workers of its own pools.
 * @param pool stored name of the worker's pool
 */
export function workerShownTo(tenant: string, workerId: string, pool: string): string {
  if (isOfOperators(tenant) || ownerOfPool(pool) === tenant) return workerId;
  return `worker-${createHash("sha256").update(`${tenant}\u0000${workerId}`).digest("hex").slice(0, 16)}`;
}
