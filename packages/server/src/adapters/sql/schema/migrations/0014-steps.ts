/**
 * Records of handlers: results of steps, and checkpoints. Rows of an execution are in the partition of its month, and go with it.
 * Partitions are created by partitions.ts. Nodes of the release before do not look at the table or at the column.
 */
export const steps = `
-- 1: the execution has rows in execution_steps; NULL: it has none.
ALTER TABLE executions ADD COLUMN steps smallint;

CREATE TABLE execution_steps (
  execution_id uuid NOT NULL,
  -- Empty: the checkpoint.
  name text COLLATE "C" NOT NULL,
  kind smallint NOT NULL,
  attempt integer NOT NULL,
  number integer NOT NULL,
  at bigint NOT NULL,
  -- A JSON text; NULL: undefined.
  data bytea,
  PRIMARY KEY (execution_id, name)
) PARTITION BY RANGE (execution_id);
`;
