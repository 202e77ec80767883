/**
 * Begins the name under which the permits of a tenant are counted. No pool has such a name, because the store keeps no texts
 * with this character.
 */
const PREFIX = "\u0000tenant:";

/** Name under which the permits of a tenant's limit are counted, beside the names of pools. */
export function tenantLimit(tenant: string): string {
  return PREFIX + tenant;
}

/** Tenant whose limit has the name; null: the name is a pool's. */
export function tenantOfLimit(name: string): string | null {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : null;
}
