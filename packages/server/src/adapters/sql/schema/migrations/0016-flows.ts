/**
 * Index and columns for reads by turns of flows (ports/store-flows.ts): for each tenant and pool the rows that wait, the earliest first.
 *
 * - A job that is submitted ready writes nothing for it; a delayed job and a retry write one entry of the index.
 * - Plans get the tenant and pool of their job, because an index cannot span tables. Empty texts mean that the flow is not known: nodes of
 *   the release before write them, and upkeep fills them in (late-indexes.ts).
 * - Every row fulfils `shard >= 0`. Only statements that say so can use the indexes: for others, which read in the order of due times,
 *   PostgreSQL would sometimes scan and sort a whole herd.
 *
 * `ON ONLY`, and no index on plans: upkeep creates the indexes without blocking writes. Reads do without them until then.
 */
export const flows = `
CREATE INDEX executions_flow ON ONLY executions (tenant, pool, due_at, id) WHERE queue = 1 AND shard >= 0;
ALTER TABLE plans ADD COLUMN tenant text NOT NULL DEFAULT '', ADD COLUMN pool text NOT NULL DEFAULT '';
`;
