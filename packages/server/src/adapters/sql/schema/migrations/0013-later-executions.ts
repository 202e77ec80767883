/**
 * Index of the executions of a job that its first execution's id does not lead to. The id of the first execution follows
 * from the job's id, so most executions need no entry. Executions with another id are in the index whoever wrote them:
 * those that nodes of the release before create, and those that were there before the migration.
 *
 * - The predicate compares bytes, because PostgreSQL has no operators for the bits of a uuid.
 * - `ON ONLY`: upkeep creates the parts of existing months without blocking writes (late-indexes.ts).
 * - The index of all executions of a job stays as long as a node may need it, because a partitioned index is dropped as a
 *   whole, and with it the parts of all months. Upkeep drops it. A new store has no months yet, and begins without it.
 */
export const laterExecutions = `
CREATE INDEX executions_later ON ONLY executions (job_id, scheduled_at)
  WHERE trigger <> 1 OR uuid_send(id) <> set_byte(uuid_send(job_id), 10, get_byte(uuid_send(job_id), 10) # 128);
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'executions'::regclass) THEN DROP INDEX executions_job; END IF;
END $$;
`;
