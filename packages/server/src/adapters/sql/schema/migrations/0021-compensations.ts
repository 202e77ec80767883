/**
 * Compensations of workflow runs. A run whose nodes have ended, and that compensates them, keeps the end that it will have as JSON; the
 * column is NULL for other runs. The executions of compensations need no column: their numbers begin at 2^24.
 *
 * A node that does not know the column works with runs of workflows neither (0018-workflows.ts).
 */
export const compensations = `
ALTER TABLE workflow_runs ADD COLUMN outcome text;
`;
