/**
 * Runs of workflows. A run is an execution of its workflow's job: its row is RUNNING in queue 4 (OPEN), `node` is -1, and `due_at` its
 * deadline. The execution of a node has the run's id as its `job_id`, the trigger 6 and `settled` 3: the index `executions_later` finds it,
 * and no list of dead letters does. All rows of a run are in the same month, because their ids have the same time.
 *
 * - The columns are NULL for jobs. With them, the header of a row keeps its size of 32 bytes.
 * - The index of open runs is over an empty predicate. `ON ONLY`: upkeep creates the parts of existing months without blocking writes
 *   (late-indexes.ts); reads do without them until then.
 *
 * Nodes of the release before read neither the queue nor the trigger, so the first run raises `needs_level` (commit/raised-levels.ts).
 */
export const workflows = `
ALTER TABLE executions
  -- Number of the node, from 0; -1: the row of a run.
  ADD COLUMN node integer,
  -- Index of the item of a map, from 0; NULL: the node is no map.
  ADD COLUMN item integer,
  -- Shard of the run; NULL: that of the execution.
  ADD COLUMN run_shard smallint,
  -- Branch that the execution of a node has chosen.
  ADD COLUMN branch text;
CREATE INDEX executions_open_runs ON ONLY executions (due_at, id) WHERE queue = 4;

CREATE TABLE workflow_graphs (
  job_id uuid NOT NULL,
  version integer NOT NULL,
  nodes integer NOT NULL,
  graph bytea NOT NULL,
  -- Facts that an owner needs of each node when it creates the node's execution.
  definitions bytea NOT NULL,
  PRIMARY KEY (job_id, version)
);

CREATE TABLE workflow_payloads (
  job_id uuid NOT NULL,
  version integer NOT NULL,
  node integer NOT NULL,
  payload bytea NOT NULL,
  PRIMARY KEY (job_id, version, node)
);

CREATE TABLE workflow_runs (
  run uuid NOT NULL PRIMARY KEY,
  shard smallint NOT NULL,
  revision integer NOT NULL,
  mode smallint NOT NULL
);
`;
