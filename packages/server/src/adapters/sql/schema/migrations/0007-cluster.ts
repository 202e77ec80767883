/**
 * Data that nodes report about themselves, and requests of operators. Nodes of the previous release name the columns
 * that they write, so they keep working with this schema.
 */
export const cluster = `
ALTER TABLE nodes
  ADD COLUMN feature_level integer NOT NULL DEFAULT 1,
  ADD COLUMN draining boolean NOT NULL DEFAULT false;
`;
