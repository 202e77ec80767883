/**
 * Lifecycle events: rows that each commit writes for its shards, and the inbox of those that submits and changes of jobs
 * leave for the owners.
 *
 * An owner that does not know the tables would write no events, so the first event raises `needs_level`
 * (commit/raised-levels.ts).
 */
export const events = `
CREATE TABLE outbox (
  shard smallint NOT NULL,
  epoch bigint NOT NULL,
  -- Number of the owner's batch.
  seq bigint NOT NULL,
  written_at bigint NOT NULL,
  -- Blocks of events; see adapters/sql/events/event-blocks.ts.
  events bytea NOT NULL,
  -- Executions and plans whose events do not count, because the commit did not write them; NULL: none.
  missed uuid[],
  -- Created executions that are SKIPPED because their unique key was held; NULL: none.
  held uuid[],
  PRIMARY KEY (shard, epoch, seq)
);

CREATE TABLE event_inbox (
  id uuid PRIMARY KEY,
  shard smallint NOT NULL,
  events bytea NOT NULL
);

-- Highest row of each shard that retention has removed.
CREATE TABLE event_floors (
  shard smallint PRIMARY KEY,
  epoch bigint NOT NULL,
  seq bigint NOT NULL
);
`;
