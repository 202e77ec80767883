/**
 * Signals to executions, and marks of executions that suspended. Rows of an execution are in the partition of its month, and go with it.
 * Partitions are created by partitions.ts. Nodes of the release before do not look at the table.
 *
 * `executions.steps` has further values: 2 (a handler sleeps) and 3 (a handler waits for signals) beside 1.
 */
export const signals = `
CREATE TABLE signals (
  execution_id uuid NOT NULL,
  id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  -- A JSON text; NULL: none.
  data bytea,
  -- Signals of an execution have different times, in the order in which they were accepted.
  at bigint NOT NULL,
  -- Name of the step that consumed the signal; NULL: none has.
  taken_by text,
  PRIMARY KEY (execution_id, id)
) PARTITION BY RANGE (execution_id);
`;
