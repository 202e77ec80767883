/**
 * Jobs that change after they were accepted. An execution keeps the version of its job by which it was created until
 * its owner changes that. The store therefore keeps payloads of former versions for as long as an execution of that
 * version.
 *
 * An expression index holds labels as `key` and `key=value`: submits write nothing more for it, and jobs without labels
 * cost nothing.
 */
export const changedJobs = `
ALTER TABLE jobs ADD COLUMN deleted_at bigint;
ALTER TABLE executions ADD COLUMN job_version integer NOT NULL DEFAULT 1, ADD COLUMN IF NOT EXISTS retry_of uuid;

CREATE TABLE job_payloads (
  job_id uuid NOT NULL,
  version integer NOT NULL,
  payload bytea,
  PRIMARY KEY (job_id, version)
);

ALTER TABLE commands ALTER COLUMN execution_id DROP NOT NULL, ADD COLUMN job_id uuid,
  -- What a job's command says beyond its kind; a JSON text.
  ADD COLUMN body text;

CREATE FUNCTION label_terms(labels text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT array_agg(term) FROM json_each_text(labels::json) l, LATERAL (VALUES (l.key), (l.key || '=' || l.value)) t (term)
$$;
CREATE INDEX jobs_labels ON jobs USING gin (label_terms(labels)) WHERE labels IS NOT NULL;
`;
