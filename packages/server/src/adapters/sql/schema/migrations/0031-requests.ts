/**
 * Requests for jobs, which applications write in transactions of their own.
 *
 * A program of an older level does not take requests in, and leaves the table alone.
 */
export const requests = `
CREATE TABLE job_requests (
  -- UUIDv7; the id of the job, if it runs once.
  id uuid PRIMARY KEY,
  tenant text NOT NULL,
  -- 0: ACCEPTED, 1: TAKEN_IN, 2: REFUSED
  state smallint NOT NULL,
  created_at bigint NOT NULL,
  finished_at bigint,
  -- Size of the body.
  bytes integer NOT NULL,
  idempotency_key text,
  traceparent text,
  -- JSON; NULL: the request is TAKEN_IN.
  body text,
  job_id uuid,
  execution_id uuid,
  deduplicated boolean,
  -- JSON of the problem of a REFUSED request.
  problem text
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX job_requests_open ON job_requests (id) WHERE state = 0;
CREATE INDEX job_requests_refused ON job_requests (id) WHERE state = 2;

-- Writes one request in the transaction of the caller, and returns its id.
CREATE FUNCTION mainspring_submit(job jsonb, idempotency_key text DEFAULT NULL, traceparent text DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
  content text := job::text;
  micros bigint := floor(extract(epoch FROM clock_timestamp()) * 1000000);
  request uuid := (lpad(to_hex(micros / 1000), 12, '0') || '7' || lpad(to_hex(micros % 1000 * 4), 3, '0')
    || substr(gen_random_uuid()::text, 20))::uuid;
BEGIN
  IF content IS NULL THEN
    RAISE EXCEPTION 'mainspring_submit: the job is NULL' USING ERRCODE = 'null_value_not_allowed',
      HINT = 'Give a JSON object such as {"target": {"handler": "send-receipt"}, "payload": {"order": 7}}.';
  ELSIF octet_length(content) > 1179648 THEN
    RAISE EXCEPTION 'mainspring_submit: the job has % bytes, and at most 1179648 are taken', octet_length(content)
      USING ERRCODE = 'program_limit_exceeded', HINT = 'Keep large data elsewhere, and send where it is.';
  ELSIF length(idempotency_key) > 255 THEN
    RAISE EXCEPTION 'mainspring_submit: the idempotency key has % characters, and at most 255 are taken', length(idempotency_key)
      USING ERRCODE = 'string_data_right_truncation';
  END IF;
  INSERT INTO job_requests (id, tenant, state, created_at, bytes, idempotency_key, traceparent, body)
  VALUES (request, 'default', 0, micros / 1000, octet_length(content), mainspring_submit.idempotency_key,
    left(mainspring_submit.traceparent, 512), content);
  PERFORM pg_notify('mainspring_requests', current_schema());
  RETURN request;
END $body$;

-- Writes up to 10,000 requests, and returns their ids in the order of the jobs.
CREATE FUNCTION mainspring_submit_batch(jobs jsonb, idempotency_keys text[] DEFAULT NULL, traceparent text DEFAULT NULL)
RETURNS uuid[] LANGUAGE plpgsql SECURITY DEFINER AS $body$
DECLARE
  millis bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  largest integer;
  total bigint;
  longest integer;
  requests uuid[];
BEGIN
  IF jsonb_typeof(jobs) IS DISTINCT FROM 'array' THEN
    RAISE EXCEPTION 'mainspring_submit_batch: the jobs must be a JSON array, one item for each job'
      USING ERRCODE = 'invalid_parameter_value';
  ELSIF jsonb_array_length(jobs) > 10000 THEN
    RAISE EXCEPTION 'mainspring_submit_batch: there are % jobs, and at most 10000 are taken', jsonb_array_length(jobs)
      USING ERRCODE = 'program_limit_exceeded', HINT = 'Call it several times in one transaction.';
  ELSIF idempotency_keys IS NOT NULL AND cardinality(idempotency_keys) <> jsonb_array_length(jobs) THEN
    RAISE EXCEPTION 'mainspring_submit_batch: idempotency_keys must have one item for each of the % jobs (NULL: no key), not %',
      jsonb_array_length(jobs), cardinality(idempotency_keys) USING ERRCODE = 'invalid_parameter_value';
  END IF;
  WITH added AS (
    INSERT INTO job_requests (id, tenant, state, created_at, bytes, idempotency_key, traceparent, body)
    SELECT (lpad(to_hex(millis + (place - 1) / 4096), 12, '0') || '7' || lpad(to_hex((place - 1) % 4096), 3, '0')
      || substr(gen_random_uuid()::text, 20))::uuid, 'default', 0, millis, octet_length(content), idempotency_keys[place],
      left(mainspring_submit_batch.traceparent, 512), content
    FROM (SELECT item::text AS content, place FROM jsonb_array_elements(jobs) WITH ORDINALITY AS j (item, place)) asked
    RETURNING id, bytes, length(idempotency_key) AS chars
  ) SELECT array_agg(id ORDER BY id), max(bytes), sum(bytes), max(chars) INTO requests, largest, total, longest FROM added;
  IF largest > 1179648 OR total > 33554432 THEN
    RAISE EXCEPTION 'mainspring_submit_batch: the largest job has % bytes and all have %, and at most 1179648 and 33554432 are taken',
      largest, total USING ERRCODE = 'program_limit_exceeded', HINT = 'Keep large data elsewhere, and send where it is.';
  ELSIF longest > 255 THEN
    RAISE EXCEPTION 'mainspring_submit_batch: an idempotency key has % characters, and at most 255 are taken', longest
      USING ERRCODE = 'string_data_right_truncation';
  END IF;
  IF requests IS NOT NULL THEN
    PERFORM pg_notify('mainspring_requests', current_schema());
  END IF;
  RETURN coalesce(requests, '{}');
END $body$;

-- A caller needs the right to execute the functions, and none on the tables. Their path leads to no object of the caller.
REVOKE ALL ON FUNCTION mainspring_submit(jsonb, text, text), mainspring_submit_batch(jsonb, text[], text) FROM PUBLIC;
DO $do$ BEGIN
  EXECUTE format('ALTER FUNCTION mainspring_submit(jsonb, text, text) SET search_path = %I, pg_temp', current_schema());
  EXECUTE format('ALTER FUNCTION mainspring_submit_batch(jsonb, text[], text) SET search_path = %I, pg_temp', current_schema());
END $do$;
`;
