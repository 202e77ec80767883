/**
 * Maps of workflows: nodes that run once for each item of an array.
 *
 * The items that a retry keeps are in `kept`, which has triples for them beside the pairs of nodes: node, null, and the
 * ranges of the items.
 *
 * Nodes of the release before cannot open a store that has a run (0018-workflows.ts).
 */
export const maps = `
-- Numbers of items of the maps that were counted, as a JSON text; NULL: none. A failure stands in place of a number.
ALTER TABLE workflow_runs ADD COLUMN map_counts text;
`;
