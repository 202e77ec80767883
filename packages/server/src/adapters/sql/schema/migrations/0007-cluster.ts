/**
 * Facts that nodes report of themselves, and wishes of operators. Nodes of the release before name the columns that
 * they write, and go on beside this.
 */
export const cluster = `
ALTER TABLE nodes
  ADD COLUMN feature_level integer NOT NULL DEFAULT 1,
  ADD COLUMN draining boolean NOT NULL DEFAULT false;
`;
