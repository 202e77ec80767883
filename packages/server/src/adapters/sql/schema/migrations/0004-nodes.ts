/**
 * Leases of nodes. The table is unlogged, so that renewals write nothing to the log. After a crash or on a promoted
 * standby, where the table is empty, every living node inserts its row again within a fraction of a second.
 */
export const nodes = `
CREATE UNLOGGED TABLE nodes (
  incarnation text NOT NULL PRIMARY KEY,
  name text NOT NULL,
  address text NOT NULL,
  -- JSON text
  roles text NOT NULL,
  version text NOT NULL,
  started_at bigint NOT NULL,
  -- By this server's clock, which alone judges them.
  renewed_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
`;
