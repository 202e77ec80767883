/**
 * The leases of nodes. Unlogged: renewals cost no write to the log, and after a crash or on a promoted standby, where the
 * table is empty, every node that lives writes itself down again within a fraction of a second.
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
