/**
 * Sub-workflows: runs that are the executions of other runs' nodes. Such an execution has its node's number and the handler `$workflow`,
 * which no job can have, and a row in `workflow_runs`. Its nodes have its id as their `job_id`.
 *
 * Nodes of the release before cannot open a store that has a run (0018-workflows.ts).
 */
export const subWorkflows = `
-- Key in workflow_graphs and workflow_payloads of a sub-workflow; NULL: the run's job is the key.
ALTER TABLE workflow_runs ADD COLUMN workflow uuid;
-- Job of the workflow that contains this one; NULL: the workflow is that of the job job_id.
ALTER TABLE workflow_graphs ADD COLUMN of_job uuid;
`;
