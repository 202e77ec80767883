import { tenantOf } from "@mainspring/server/testing";

/** Tenant of all work of a simulation. */
export const TENANT = tenantOf(null);
