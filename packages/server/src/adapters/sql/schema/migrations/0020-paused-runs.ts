/**
 * Runs of workflows that are paused. `executions.queue` has a further value: 5 (PARKED, a node that its run keeps from starting). No index
 * has these rows, because the owner of the run knows their ids.
 *
 * Nodes of the release before cannot open a store that has a run (0018-workflows.ts).
 */
export const pausedRuns = `
ALTER TABLE workflow_runs ADD COLUMN paused boolean NOT NULL DEFAULT false;
`;
