/** Slots of a pool that stay free for tenants with few attempts. */
export const headroom = `
ALTER TABLE pools ADD COLUMN headroom integer NOT NULL DEFAULT 0;
`;
