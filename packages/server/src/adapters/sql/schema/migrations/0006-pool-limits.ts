/** Limits of a pool over all shards; 0: no limit. */
export const poolLimits = `
ALTER TABLE pools ADD COLUMN max_running integer NOT NULL DEFAULT 0,
  ADD COLUMN rate_per_sec double precision NOT NULL DEFAULT 0;
`;
