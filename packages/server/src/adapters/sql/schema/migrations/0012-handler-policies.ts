/**
 * Policies that tasks declare for jobs of their handlers. The table's name leaves `handlers` to applications that share the schema
 * `public` with a store. `version` grows with each change, so that a reader asks for one number. Nodes of the release before do not
 * look at this table.
 */
export const handlerPolicies = `
CREATE TABLE handler_policies (
  pool text COLLATE "C" NOT NULL,
  handler text COLLATE "C" NOT NULL,
  is_home boolean NOT NULL,
  -- A JSON text.
  policies text NOT NULL,
  declared_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (pool, handler)
);
`;
