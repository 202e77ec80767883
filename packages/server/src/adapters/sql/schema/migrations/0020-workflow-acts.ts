/**
 * Acts on runs of workflows.
 *
 * - A run that is paused. `executions.queue` has a further value: 5 (PARKED, a node that its run keeps from starting). No index has these
 *   rows, because the owner of the run knows their ids.
 * - Signals that name a node. They may come before the node has an execution, so the run tells for how long they are kept.
 *
 * Nodes of the release before cannot open a store that has a run (0018-workflows.ts).
 */
export const workflowActs = `
ALTER TABLE workflow_runs ADD COLUMN paused boolean NOT NULL DEFAULT false;
-- Run of the node to which the signal was sent by name; NULL: the signal was sent to an execution.
ALTER TABLE signals ADD COLUMN run uuid;
CREATE INDEX signals_of_runs ON signals (run) WHERE run IS NOT NULL;
`;
