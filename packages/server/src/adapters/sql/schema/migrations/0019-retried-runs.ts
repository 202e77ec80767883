/**
 * Retries of workflow runs. A retry keeps nodes of earlier runs, its bases, and retention keeps the bases of an open run. The columns
 * are NULL for other runs. A node that does not know them works with runs of workflows neither (migration 18).
 */
export const retriedRuns = `
ALTER TABLE workflow_runs
  ADD COLUMN retry_of uuid,
  -- Runs that have the executions of kept nodes.
  ADD COLUMN bases uuid[],
  -- JSON: for each base the kept nodes, each with its branch.
  ADD COLUMN kept text;
CREATE INDEX workflow_runs_retries ON workflow_runs (retry_of, run) WHERE retry_of IS NOT NULL;
`;
