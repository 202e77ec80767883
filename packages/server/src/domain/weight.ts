/** Weight of a tenant that nobody has set: its share of a pool's slots beside other tenants that have work there. */
export const DEFAULT_WEIGHT = 100;

/** Shares that an owner tells the others at a time. Tenants with fewer attempts are left out. */
export const TOLD_SHARES_MAX = 2_000;
