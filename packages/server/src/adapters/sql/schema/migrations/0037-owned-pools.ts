/**
 * Pools that tenants own. The name of an owned pool begins with its owner and U+001F, so that it differs from that of every shared pool.
 */
export const ownedPools = `
-- null: the pool is shared.
ALTER TABLE pools ADD COLUMN owner text;
`;
