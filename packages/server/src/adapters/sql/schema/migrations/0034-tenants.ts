/**
 * Tenants, and the tenants of SQL roles and of topics of Kafka.
 *
 * A program that does not know the table assigns the work of suspended tenants, so the second tenant raises `needs_level`
 * in its transaction (cluster/tenants.ts).
 */
export const tenants = `
CREATE TABLE tenants (
  name text PRIMARY KEY,
  -- ACTIVE, SUSPENDED, DELETING, or DELETED: the row is hidden, and another tenant may take its name.
  state text NOT NULL,
  -- 1 to 1000.
  weight integer NOT NULL,
  -- NULL in the columns below: no limit; for retention_days: the retention of the server; for pools: every pool.
  max_running integer,
  max_waiting bigint,
  max_recurring integer,
  submits_per_sec double precision,
  requests_per_sec double precision,
  max_payload_bytes integer,
  max_batch_bytes integer,
  retention_days integer,
  -- Names of pools, in which * stands for any characters.
  pools text[],
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- Version of all tenants at the last change of this one.
  version bigint NOT NULL
);
CREATE INDEX tenants_changed ON tenants (version);

-- Each change of a tenant raises the version in its transaction.
CREATE TABLE tenants_version (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version bigint NOT NULL);
INSERT INTO tenants_version (version) VALUES (1);
INSERT INTO tenants (name, state, weight, created_at, updated_at, version)
SELECT 'default', 'ACTIVE', 100, now, now, 1 FROM (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) n;

-- The lists of a tenant are read by indexes that have no entry of the tenant default. Upkeep creates the parts of existing months.
CREATE INDEX executions_tenant ON ONLY executions (tenant, id) WHERE tenant <> 'default';
CREATE INDEX executions_tenant_dead ON ONLY executions (tenant, id) WHERE state = 7 AND settled IS NULL AND tenant <> 'default';
CREATE INDEX jobs_tenant ON ONLY jobs (tenant, id) WHERE tenant <> 'default';

-- Tenants of requests that come without a key. kind: ROLE: name is the database role that submits in SQL; TOPIC: that of Kafka.
CREATE TABLE tenant_sources (
  kind text NOT NULL,
  name text NOT NULL,
  tenant text NOT NULL,
  PRIMARY KEY (kind, name)
);
CREATE INDEX tenant_sources_tenant ON tenant_sources (tenant);

-- The functions for submits in SQL give a request the tenant of its role. The role of the login cannot be changed by SET ROLE.
DO $do$
DECLARE
  signature text;
BEGIN
  FOREACH signature IN ARRAY ARRAY['mainspring_submit(jsonb, text, text)', 'mainspring_submit_batch(jsonb, text[], text)'] LOOP
    EXECUTE replace(pg_get_functiondef(signature::regprocedure), '''default''',
      'coalesce((SELECT s.tenant FROM tenant_sources s WHERE s.kind = ''ROLE'' AND s.name = session_user), ''default'')');
  END LOOP;
END $do$;
`;
