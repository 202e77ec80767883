/**
 * The first schema. Numbers for states and queues are those of codes.ts. Times are milliseconds since 1970, as
 * everywhere in the program, so that no conversion rounds or shifts them.
 *
 * `jobs` and `executions` are partitioned by the month in their UUIDv7 keys, without a default partition: partitions.ts
 * creates the months ahead of time. Every transition of an execution pays for each index, so there are few:
 * - ready, waiting, held: partial indexes, because a row is in at most one of them, and in none once it is final;
 * - unsuccessful: the final states that people search for among very many that succeeded.
 */
export const initial = `
CREATE TABLE jobs (
  id uuid NOT NULL PRIMARY KEY,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  scheduled_at bigint NOT NULL,
  version integer NOT NULL DEFAULT 1,
  concurrency_limit integer NOT NULL,
  priority smallint NOT NULL,
  tenant text NOT NULL,
  name text,
  pool text NOT NULL,
  handler text NOT NULL,
  -- JSON texts; NULL: none, or for policy the default (codes.ts).
  requires text,
  policy text,
  labels text,
  concurrency_key text,
  unique_key text,
  -- Whatever the client sent, never parsed: jsonb refuses some of what JSON allows.
  payload bytea
) PARTITION BY RANGE (id);
CREATE INDEX jobs_name ON jobs (tenant, name, id) WHERE name IS NOT NULL;

CREATE TABLE executions (
  id uuid NOT NULL PRIMARY KEY,
  job_id uuid NOT NULL,
  lane bigint NOT NULL,
  rank double precision NOT NULL,
  due_at bigint NOT NULL,
  scheduled_at bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  started_at bigint,
  finished_at bigint,
  attempt_started_at bigint,
  concurrency_limit integer NOT NULL,
  payload_bytes integer NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  lost integer NOT NULL DEFAULT 0,
  shard smallint NOT NULL,
  state smallint NOT NULL,
  queue smallint NOT NULL,
  priority smallint NOT NULL,
  trigger smallint NOT NULL,
  has_unique_key boolean NOT NULL,
  tenant text NOT NULL,
  pool text NOT NULL,
  handler text NOT NULL,
  requires text,
  policy text,
  concurrency_key text,
  reason text,
  worker_id text,
  gateway text,
  error text,
  -- One JSON line for each attempt that has ended.
  attempts text NOT NULL DEFAULT '',
  result bytea
) PARTITION BY RANGE (id);
CREATE INDEX executions_ready ON executions (lane, rank, id) WHERE queue = 2;
CREATE INDEX executions_waiting ON executions (due_at, id) WHERE queue = 1;
CREATE INDEX executions_held ON executions (shard) WHERE queue = 3;
CREATE INDEX executions_job ON executions (job_id);
CREATE INDEX executions_unsuccessful ON executions (state, id) WHERE state IN (5, 6, 7);

CREATE TABLE shards (
  id smallint PRIMARY KEY,
  epoch bigint NOT NULL,
  owner text
);
INSERT INTO shards (id, epoch) SELECT generate_series(0, 63), 0;

-- What was assigned and is not yet in the rows. It holds a second or two of work, so it is vacuumed all the time.
CREATE TABLE journal (
  shard smallint NOT NULL,
  epoch bigint NOT NULL,
  seq bigint NOT NULL,
  entries text NOT NULL,
  PRIMARY KEY (shard, epoch, seq)
) WITH (
  toast_tuple_target = 8160,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE commands (
  id uuid PRIMARY KEY,
  shard smallint NOT NULL,
  kind smallint NOT NULL,
  execution_id uuid NOT NULL
) WITH (autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE idempotency_keys (
  tenant text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  request_hash text NOT NULL,
  -- The ids that were answered; a JSON text.
  response text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

CREATE TABLE unique_keys (
  tenant text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  execution_id uuid NOT NULL,
  job_id uuid NOT NULL,
  PRIMARY KEY (tenant, key)
);
CREATE INDEX unique_keys_execution ON unique_keys (execution_id);

CREATE TABLE pools (
  name text PRIMARY KEY,
  paused boolean NOT NULL,
  order_strategy text NOT NULL,
  placement text NOT NULL
);
`;
