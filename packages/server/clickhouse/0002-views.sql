-- Executions, one row each, as the newest of their events tells them. Filters on `tenant` and `day` reach the table.
CREATE OR REPLACE VIEW executions AS
SELECT
    tenant,
    day,
    execution_id,
    argMax(tuple(events.job_id), version).1 AS job_id,
    argMax(tuple(events.workflow_id), version).1 AS workflow_id,
    argMax(tuple(events.node), version).1 AS node,
    argMax(tuple(events.item), version).1 AS item,
    argMax(events.pool, version) AS pool,
    argMax(events.handler, version) AS handler,
    max(events.trigger) AS trigger,
    argMax(tuple(events.state), version).1 AS state,
    argMax(tuple(events.reason), version).1 AS reason,
    argMax(tuple(events.error_name), version).1 AS error_name,
    argMax(tuple(events.worker_id), version).1 AS worker_id,
    argMax(tuple(events.scheduled_at), version).1 AS scheduled_at,
    max(events.created_at) AS created_at,
    min(started_at) AS first_started_at,
    max(started_at) AS last_started_at,
    maxIf(events.finished_at, is_end = 1) AS finished_at,
    max(attempt) AS attempts,
    max(events.failures) AS failures,
    max(events.lost) AS lost,
    max(events.job_version) AS job_version,
    dateDiff('millisecond', if(trigger = 'BACKFILL', created_at, scheduled_at), first_started_at) AS lateness_ms,
    dateDiff('millisecond', greatest(created_at, scheduled_at), first_started_at) AS wait_ms,
    dateDiff('millisecond', last_started_at, finished_at) AS run_ms
FROM events
WHERE execution_id != toUUID('00000000-0000-0000-0000-000000000000')
GROUP BY tenant, day, execution_id;

-- How late did executions start, by pool and hour?
CREATE OR REPLACE VIEW lateness_by_pool AS
SELECT
    tenant,
    pool,
    toStartOfHour(scheduled_at) AS hour,
    count() AS started,
    arrayElement(quantilesExact(0.5, 0.95, 0.99)(lateness_ms) AS percentiles, 1) AS p50_ms,
    arrayElement(percentiles, 2) AS p95_ms,
    arrayElement(percentiles, 3) AS p99_ms,
    max(lateness_ms) AS max_ms
FROM executions
WHERE (tenant, day, execution_id) IN (
        SELECT tenant, day, execution_id FROM events
        WHERE scheduled_at >= {from:DateTime64(3, 'UTC')} AND scheduled_at < {to:DateTime64(3, 'UTC')})
    AND scheduled_at >= {from:DateTime64(3, 'UTC')} AND scheduled_at < {to:DateTime64(3, 'UTC')}
    AND lateness_ms IS NOT NULL
GROUP BY tenant, pool, hour
ORDER BY tenant, pool, hour;

-- How many executions ended in failure, by handler?
CREATE OR REPLACE VIEW failure_rate_by_handler AS
SELECT
    tenant,
    handler,
    count() AS ended,
    countIf(kind = 'JobCompleted') AS succeeded,
    countIf(kind = 'JobDeadLettered') AS dead,
    countIf(kind = 'JobCancelled') AS cancelled,
    countIf(kind = 'JobSkipped') AS skipped,
    sum(failures) AS failed_attempts,
    sum(lost) AS lost_attempts,
    if(succeeded + dead = 0, NULL, round(dead / (succeeded + dead), 4)) AS failure_rate
FROM (
    SELECT
        tenant,
        execution_id,
        argMax(events.handler, version) AS handler,
        argMax(events.kind, version) AS kind,
        argMax(events.failures, version) AS failures,
        argMax(events.lost, version) AS lost
    FROM events
    WHERE is_end = 1 AND execution_id != toUUID('00000000-0000-0000-0000-000000000000')
        AND at >= {from:DateTime64(3, 'UTC')} AND at < {to:DateTime64(3, 'UTC')}
    GROUP BY tenant, execution_id)
GROUP BY tenant, handler
ORDER BY tenant, handler;

-- How many attempts did each worker lose?
CREATE OR REPLACE VIEW lost_by_worker AS
SELECT
    tenant,
    pool,
    worker_id,
    uniqExactIf(id, kind = 'JobAssigned') AS assigned,
    uniqExactIf(id, kind = 'JobFailed' AND reason = 'WORKER_LOST') AS lost,
    maxOrNullIf(at, kind = 'JobFailed' AND reason = 'WORKER_LOST') AS last_lost_at
FROM events
WHERE worker_id IS NOT NULL AND kind IN ('JobAssigned', 'JobFailed')
    AND at >= {from:DateTime64(3, 'UTC')} AND at < {to:DateTime64(3, 'UTC')}
GROUP BY tenant, pool, worker_id
HAVING lost > 0
ORDER BY lost DESC, tenant, pool, worker_id;

-- Which handlers take longest?
CREATE OR REPLACE VIEW slowest_handlers AS
SELECT
    tenant,
    handler,
    count() AS attempts,
    arrayElement(quantilesExact(0.5, 0.95, 0.99)(attempt_ms) AS percentiles, 1) AS p50_ms,
    arrayElement(percentiles, 2) AS p95_ms,
    arrayElement(percentiles, 3) AS p99_ms,
    max(attempt_ms) AS max_ms,
    sum(attempt_ms) AS total_ms
FROM (
    SELECT tenant, execution_id, attempt, argMax(events.handler, version) AS handler, argMax(run_ms, version) AS attempt_ms
    FROM events
    WHERE attempt > 0 AND run_ms IS NOT NULL AND at >= {from:DateTime64(3, 'UTC')} AND at < {to:DateTime64(3, 'UTC')}
    GROUP BY tenant, execution_id, attempt
    -- The duration of an attempt whose worker was lost is not known.
    HAVING countIf(kind = 'JobFailed' AND reason = 'WORKER_LOST') = 0)
GROUP BY tenant, handler
ORDER BY p95_ms DESC, tenant, handler;

-- Did it run? Outcomes of what was due in the window, by job and handler.
CREATE OR REPLACE VIEW did_it_run AS
SELECT
    tenant,
    job_id,
    handler,
    countIf(is_execution) AS executions,
    countIf(is_execution AND first_started_at IS NOT NULL) AS started,
    countIf(is_execution AND state = 'SUCCEEDED') AS succeeded,
    countIf(is_execution AND state = 'DEAD') AS dead,
    countIf(is_execution AND state = 'CANCELLED') AS cancelled,
    countIf(is_execution AND state = 'SKIPPED') AS skipped,
    countIf(is_execution AND state NOT IN ('SUCCEEDED', 'DEAD', 'CANCELLED', 'SKIPPED')) AS open,
    countIf(NOT is_execution) AS skips_of_plan,
    min(first_started_at) AS first_start,
    max(finished_at) AS last_end
FROM (
    SELECT tenant, job_id, handler, true AS is_execution, state, first_started_at, finished_at
    FROM executions
    WHERE (tenant, day, execution_id) IN (
            SELECT tenant, day, execution_id FROM events
            WHERE scheduled_at >= {from:DateTime64(3, 'UTC')} AND scheduled_at < {to:DateTime64(3, 'UTC')})
        AND scheduled_at >= {from:DateTime64(3, 'UTC')} AND scheduled_at < {to:DateTime64(3, 'UTC')}
    UNION ALL
    SELECT tenant, job_id, handler, false, state, NULL, NULL
    FROM (
        SELECT tenant, id, any(events.job_id) AS job_id, any(events.handler) AS handler, any(events.state) AS state
        FROM events
        WHERE kind = 'JobSkipped' AND execution_id = toUUID('00000000-0000-0000-0000-000000000000')
            AND scheduled_at >= {from:DateTime64(3, 'UTC')} AND scheduled_at < {to:DateTime64(3, 'UTC')}
        GROUP BY tenant, id))
GROUP BY tenant, job_id, handler
ORDER BY tenant, handler, job_id;

-- Why did executions become dead letters?
CREATE OR REPLACE VIEW dead_letters AS
SELECT
    tenant,
    pool,
    handler,
    reason,
    error_name,
    uniqExact(execution_id) AS executions,
    min(at) AS first_at,
    max(at) AS last_at,
    min(toString(execution_id)) AS example
FROM events
WHERE kind = 'JobDeadLettered' AND at >= {from:DateTime64(3, 'UTC')} AND at < {to:DateTime64(3, 'UTC')}
GROUP BY tenant, pool, handler, reason, error_name
ORDER BY executions DESC, tenant, pool, handler, reason, error_name;
