/**
 * Runs that cancel or retry all executions which match a filter. Only nodes that know the table carry them out, and the
 * commands and retries of a run are those of single requests, so nodes of older levels work beside them.
 */
export const executionRuns = `
CREATE TABLE execution_runs (
  id uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  action smallint NOT NULL,
  -- JSON of the filter, as a request has it.
  filter text NOT NULL,
  idempotency_key text COLLATE "C",
  -- JSON; NULL: not counted.
  expected text,
  created_at bigint NOT NULL,
  done bigint NOT NULL DEFAULT 0,
  -- JSON: counts by the name of the problem.
  refusals text NOT NULL DEFAULT '{}',
  stopped boolean NOT NULL DEFAULT false,
  finished_at bigint,
  -- Number of the last take, and the time until which its node holds the run.
  turn integer NOT NULL DEFAULT 0,
  held_until bigint NOT NULL DEFAULT 0,
  marker uuid,
  -- JSON of the chunk in hand.
  chunk text
);
CREATE UNIQUE INDEX execution_runs_key ON execution_runs (tenant, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX execution_runs_tenant ON execution_runs (tenant, id);
CREATE INDEX execution_runs_open ON execution_runs (held_until, id) WHERE finished_at IS NULL;
`;
