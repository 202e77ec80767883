/**
 * Operations.
 *
 * - Each pool has its own priority step, which was one hour for all pools before.
 * - A dead letter is a DEAD row until it is settled: replayed (1) or discarded (2). Dead letters that are not settled
 *   have an index of their own, so that a million discarded ones cost a list nothing.
 * - A run settles all letters that a filter matches, chunk by chunk; the marker is the last letter that the run has examined.
 */
export const operating = `
ALTER TABLE pools ADD COLUMN priority_step_ms bigint NOT NULL DEFAULT 3600000;

ALTER TABLE executions ADD COLUMN retry_of uuid, ADD COLUMN settled smallint;
CREATE INDEX executions_dead ON executions (id) WHERE state = 7 AND settled IS NULL;

CREATE TABLE dead_letter_runs (
  id uuid PRIMARY KEY,
  tenant text NOT NULL,
  action smallint NOT NULL,
  -- A JSON text.
  filter text NOT NULL,
  created_at bigint NOT NULL,
  marker uuid NOT NULL,
  settled bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  finished_at bigint
);
`;
