-- Lifecycle events, one row for each event id. A part of the table may hold a row twice until ClickHouse merges it, so every view
-- uses only aggregates to which a repeated or a reordered row makes no difference.
CREATE TABLE IF NOT EXISTS events
(
    id String COMMENT 'same in each repeat of the event' CODEC(ZSTD(1)),
    kind LowCardinality(String) COMMENT 'JobCreated, JobAssigned, JobStarted, JobFailed, JobCompleted, JobCancelled, JobSkipped, JobDeadLettered, JobReplaced, JobDeleted',
    at DateTime64(3, 'UTC') COMMENT 'instant of the change' CODEC(Delta, ZSTD(1)),
    day Date COMMENT 'day in UTC that the id of the execution contains: its creation, or the planned instant of a recurring job; without an execution, the day of the event',
    execution_id UUID COMMENT 'zeros: the event is about a job',
    job_id Nullable(UUID) COMMENT 'NULL: node of a workflow',
    workflow_id Nullable(UUID) COMMENT 'run of the workflow whose node the execution is',
    node Nullable(UInt32) COMMENT 'number of the node in its workflow',
    item Nullable(UInt32) COMMENT 'index of the item of a map',
    tenant LowCardinality(String),
    pool LowCardinality(String),
    handler LowCardinality(String),
    trigger LowCardinality(Nullable(String)) COMMENT 'known of JobCreated',
    attempt UInt32 COMMENT 'from 1; 0: no attempt',
    worker_id LowCardinality(Nullable(String)),
    state LowCardinality(Nullable(String)) COMMENT 'state of the execution after the change',
    reason LowCardinality(Nullable(String)) COMMENT 'of JobFailed: FAILED, TIMED_OUT or WORKER_LOST',
    scheduled_at Nullable(DateTime64(3, 'UTC')) CODEC(ZSTD(1)),
    created_at Nullable(DateTime64(3, 'UTC')) COMMENT 'known of JobCreated' CODEC(ZSTD(1)),
    started_at Nullable(DateTime64(3, 'UTC')) COMMENT 'start of the attempt' CODEC(ZSTD(1)),
    finished_at Nullable(DateTime64(3, 'UTC')) COMMENT 'end of the attempt, or of the execution where no attempt ends it' CODEC(ZSTD(1)),
    failures UInt32 COMMENT 'attempts that failed or timed out',
    lost UInt32 COMMENT 'attempts whose worker was lost',
    error_name LowCardinality(Nullable(String)),
    job_version UInt32,
    shard UInt32,
    epoch UInt64 COMMENT 'with seq and shard: commit that wrote the event; 0: the backfill',
    seq UInt64,
    is_live UInt8 COMMENT '1: from the event stream; 0: from the history that the backfill reads',
    is_end UInt8 MATERIALIZED kind IN ('JobCompleted', 'JobCancelled', 'JobSkipped', 'JobDeadLettered'),
    version UInt64 MATERIALIZED 2 * multiIf(is_end = 1, 4294967295 * 4, kind = 'JobFailed', attempt * 4 + 3, kind = 'JobStarted', attempt * 4 + 2, kind = 'JobAssigned', attempt * 4 + 1, attempt * 4) + is_live COMMENT 'order of the events of one execution; live events before those of the backfill',
    run_ms Nullable(Int64) MATERIALIZED dateDiff('millisecond', started_at, finished_at) COMMENT 'duration of the attempt',
    INDEX at_range at TYPE minmax GRANULARITY 1,
    INDEX scheduled_range scheduled_at TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(is_live)
PARTITION BY toYYYYMM(day)
ORDER BY (tenant, day, execution_id, id)
TTL toDateTime(at) + INTERVAL 400 DAY
SETTINGS non_replicated_deduplication_window = 1000;
