/**
 * Quotas of tenants. A program that does not know the tables submits past the quotas, so the first quota raises `needs_level` in its
 * transaction (cluster/tenants.ts).
 */
export const tenantQuotas = `
-- One row for each quota that was ever used. Its lock puts takers of the quota in order.
CREATE TABLE quota_levels (
  tenant text NOT NULL,
  -- Name of the setting of the tenant: submitsPerSec, requestsPerSec, maxWaiting or maxRecurring.
  quota text NOT NULL,
  -- Of a rate: tokens at the instant at, in milliseconds. A new row has as many as the bucket takes.
  tokens double precision NOT NULL,
  at double precision NOT NULL,
  PRIMARY KEY (tenant, quota)
);

-- Places that a node has taken for rows that it is about to submit.
CREATE TABLE quota_places (
  tenant text NOT NULL,
  quota text NOT NULL,
  node text NOT NULL,
  places bigint NOT NULL,
  -- The row counts no longer from then on.
  until double precision NOT NULL,
  PRIMARY KEY (tenant, quota, node)
);

-- READY executions of a tenant are counted by this index. Upkeep creates the parts of existing months.
CREATE INDEX executions_tenant_ready ON ONLY executions (tenant) WHERE queue = 2 AND tenant <> 'default';
`;
