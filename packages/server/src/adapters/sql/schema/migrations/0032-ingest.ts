/**
 * Positions in the log of requests in Kafka, and what has become of its records.
 *
 * A program of an older level does not take records in, and leaves the tables alone.
 */
export const ingest = `
CREATE TABLE ingest_positions (
  partition integer PRIMARY KEY,
  -- Id of the topic, which a topic that is created again does not have.
  topic uuid NOT NULL,
  next_offset bigint NOT NULL,
  -- Records below may have been taken in before.
  replay_until bigint NOT NULL,
  updated_at bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE ingest_records (
  partition integer NOT NULL,
  topic uuid NOT NULL,
  -- Offsets of records that were taken in together.
  first_offset bigint NOT NULL,
  taken_at bigint NOT NULL,
  -- What has become of each record (ingest/entries.ts).
  entries bytea NOT NULL,
  PRIMARY KEY (partition, topic, first_offset, taken_at)
);
ALTER TABLE ingest_records ALTER COLUMN entries SET STORAGE EXTERNAL;
CREATE INDEX ingest_records_taken ON ingest_records (taken_at);

CREATE TABLE ingest_refusals (
  partition integer NOT NULL,
  topic uuid NOT NULL,
  record_offset bigint NOT NULL,
  refused_at bigint NOT NULL,
  recorded_at double precision NOT NULL,
  -- JSON
  problem text NOT NULL,
  content_type text,
  -- NULL: told, or the record has none, or a large one.
  value bytea,
  value_bytes integer NOT NULL,
  is_told boolean NOT NULL,
  PRIMARY KEY (partition, topic, record_offset)
);
CREATE INDEX ingest_refusals_untold ON ingest_refusals (partition, refused_at) WHERE NOT is_told;
CREATE INDEX ingest_refusals_refused ON ingest_refusals (refused_at);
`;
