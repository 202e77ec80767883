/**
 * Keys whose workers need a certificate. A node that does not know the column would admit them by the key alone, so the first such
 * key raises `needs_level` in its transaction (commit/raised-levels.ts).
 */
export const workerCertificates = `
-- Key id that the certificate of a worker must name: that of the key, or of a key it replaces. NULL: workers need none.
ALTER TABLE api_keys ADD COLUMN certificate_id uuid;
`;
