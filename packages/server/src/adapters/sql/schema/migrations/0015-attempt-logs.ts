/**
 * Log lines of attempts. Partitioned as `executions` is, by the month in the id of the execution: each month of executions has a month
 * of log lines, which is dropped with it. Nodes of the release before do not look at this table.
 */
export const attemptLogs = `
CREATE TABLE attempt_logs (
  execution_id uuid NOT NULL,
  attempt integer NOT NULL,
  part bigint NOT NULL,
  -- Number of all lines of the part, including those that are not kept.
  received bigint NOT NULL,
  -- A JSON text: a list of [time, level, line].
  lines text NOT NULL,
  PRIMARY KEY (execution_id, attempt, part)
) PARTITION BY RANGE (execution_id);
`;
