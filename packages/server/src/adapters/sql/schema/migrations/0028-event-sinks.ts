/** Positions of sinks of lifecycle events: systems such as Kafka, to which owners bring the rows of their shards. */
export const eventSinks = `
CREATE TABLE event_sinks (
  sink text NOT NULL,
  shard smallint NOT NULL,
  -- Last row of the shard that the sink has. Only grows.
  epoch bigint NOT NULL,
  seq bigint NOT NULL,
  -- Instant at which a node last had the sink in its configuration.
  named_at bigint NOT NULL,
  PRIMARY KEY (sink, shard)
);
`;
