/**
 * Lists that cost by what they show.
 *
 * - Executions that are over are found by handler, pool and state, newest first: one entry in the life of an execution, written when it ends.
 *   Executions that are not over are found by the indexes that their owners read by.
 * - Jobs are found by handler and pool. Deleted jobs, and recurring jobs that are paused or finished, are few among many.
 * - Types of recurring jobs are indexed by an expression: fires of recurring jobs write nothing for it.
 *
 * `ON ONLY`: an index of months that exist already would hold up all writes while it is made. Upkeep makes those one by one and beside the
 * writes (late-indexes.ts); lists do without an index until every month has it.
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
