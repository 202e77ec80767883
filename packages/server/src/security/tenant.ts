import { DEFAULT_TENANT } from "../domain/ids.ts";
import type { Tenant } from "../ports/authenticator.ts";

/**
 * The tenant of a credential. Only the security module makes tenants, so a tenant in a handler always comes from the credential of its caller.
 * @param name tenant of a key; null: the key is one of operators, who act for the tenant `default`
 */
export function tenantOf(name: string | null): Tenant {
  return (name ?? DEFAULT_TENANT) as Tenant;
}
