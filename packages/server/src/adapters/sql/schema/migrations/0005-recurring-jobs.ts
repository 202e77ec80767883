/**
 * Recurring jobs and their progress.
 *
 * - Recurring jobs live for years, so their ids are in a range whose partition is never dropped; code that looks for partitions to
 *   drop selects them by the names of months.
 * - Every fire writes a plan and each of its indexes, so the table is narrow, and the uniqueness of a job's name is kept
 *   elsewhere. Owners read by the two partial indexes.
 * - The index of a job's executions also contains their planned instants: the ledger of a job that has fired a million times is
 *   read from the requested instant on. An index without executions of one-time jobs finds the open ones.
 */
export const recurringJobs = `
ALTER TABLE jobs ADD COLUMN recurrence text;
CREATE TABLE jobs_recurring (LIKE jobs INCLUDING ALL) WITH (fillfactor = 80);
ALTER TABLE jobs ATTACH PARTITION jobs_recurring
  FOR VALUES FROM ('80000000-0000-0000-0000-000000000000') TO (MAXVALUE);

CREATE TABLE plans (
  job_id uuid NOT NULL PRIMARY KEY,
  next_fire_at bigint,
  buffered_at bigint,
  created_at bigint NOT NULL,
  revision integer NOT NULL,
  version integer NOT NULL,
  fired integer NOT NULL,
  shard smallint NOT NULL,
  state smallint NOT NULL,
  previous uuid,
  tzdata text NOT NULL,
  -- A JSON text; NULL: none.
  catch_ups text
) WITH (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 20000,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX plans_due ON plans (next_fire_at, job_id) WHERE state = 1 AND next_fire_at IS NOT NULL;
CREATE INDEX plans_awaiting ON plans (job_id)
  WHERE buffered_at IS NOT NULL OR catch_ups IS NOT NULL OR (state = 1 AND next_fire_at IS NULL);

-- Names of recurring jobs that are not deleted.
CREATE TABLE job_names (
  tenant text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  job_id uuid NOT NULL,
  PRIMARY KEY (tenant, name)
);

-- Planned instants that did not run.
CREATE TABLE skips (
  job_id uuid NOT NULL,
  from_at bigint NOT NULL,
  to_at bigint NOT NULL,
  count integer NOT NULL,
  reason smallint NOT NULL,
  PRIMARY KEY (job_id, from_at)
);
CREATE INDEX skips_age ON skips (to_at);

DROP INDEX executions_job;
CREATE INDEX executions_job ON executions (job_id, scheduled_at);
CREATE INDEX executions_open ON executions (job_id)
  WHERE queue <> 0 AND job_id >= '80000000-0000-0000-0000-000000000000';
`;
