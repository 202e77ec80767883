/** Weight of a tenant that nobody has set: its share of a pool's slots beside other tenants that have work there. */
export const DEFAULT_WEIGHT = 100;
