/**
 * Parts of runs: nodes that the handler of a node adds to its run, in the commit that makes the node final.
 *
 * A node that does not know the tables would leave the dependents of the handler's node without what they wait for, so the
 * first part raises `needs_level` (commit/raised-levels.ts).
 */
export const parts = `
CREATE TABLE workflow_parts (
  run uuid NOT NULL,
  -- Number of the first node of the part in the run; the others follow.
  first integer NOT NULL,
  -- Number of the node whose handler has added the part.
  spawner integer NOT NULL,
  nodes integer NOT NULL,
  graph bytea NOT NULL,
  definitions bytea NOT NULL,
  PRIMARY KEY (run, first)
);

CREATE TABLE workflow_part_payloads (
  run uuid NOT NULL,
  -- Number of the node in the run.
  node integer NOT NULL,
  payload bytea NOT NULL,
  PRIMARY KEY (run, node)
);
`;
