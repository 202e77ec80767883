/**
 * Indexes for lists whose cost depends on what they show.
 *
 * - Final executions are found by handler, pool and state, the newest first: one entry in the life of an execution, written when it ends.
 *   Executions that are not final are found by the indexes by which their owners read.
 * - Jobs are found by handler and pool. Deleted jobs, and recurring jobs that are paused or finished, are few among many.
 * - An expression index holds the types of recurring jobs, so that fires of recurring jobs write nothing for it.
 *
 * `ON ONLY`: creating an index on existing months would block all writes meanwhile. Upkeep creates those one by one, without
 * blocking writes (late-indexes.ts); lists do without an index until every month has it.
 */
export const lists = `
CREATE INDEX executions_over ON ONLY executions (handler, pool, state, id) WHERE queue = 0;
CREATE INDEX jobs_kind ON ONLY jobs (handler, pool, id);
CREATE INDEX jobs_recurring_kind ON jobs_recurring (handler, pool, id);
ALTER INDEX jobs_kind ATTACH PARTITION jobs_recurring_kind;
CREATE INDEX jobs_deleted ON ONLY jobs (id) WHERE deleted_at IS NOT NULL;
CREATE INDEX jobs_recurring_deleted ON jobs_recurring (id) WHERE deleted_at IS NOT NULL;
ALTER INDEX jobs_deleted ATTACH PARTITION jobs_recurring_deleted;
CREATE INDEX plans_stopped ON plans (state, job_id) WHERE state = 2 OR state = 3;

CREATE FUNCTION recurrence_type(recurrence text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT recurrence::json #>> '{times,type}'
$$;
CREATE INDEX jobs_recurring_type ON jobs_recurring (recurrence_type(recurrence), id);
`;
