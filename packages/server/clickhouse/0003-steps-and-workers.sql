-- Steps of handlers, and sessions of workers. Views about executions leave their events out by themselves: the event of a step has no times, no end
-- and the lowest version of its attempt, and that of a worker has no execution.
ALTER TABLE events ADD COLUMN IF NOT EXISTS step Nullable(String) COMMENT 'name of the step, in StepRecorded' AFTER error_name;
ALTER TABLE events ADD COLUMN IF NOT EXISTS session Nullable(UUID) COMMENT 'session of the worker, in WorkerRegistered and WorkerDead' AFTER step;
ALTER TABLE events COMMENT COLUMN kind 'JobCreated, JobAssigned, JobStarted, JobFailed, JobSuspended, JobCompleted, JobCancelled, JobSkipped, JobDeadLettered, JobReplaced, JobDeleted, StepRecorded, WorkerRegistered, WorkerDead';
ALTER TABLE events COMMENT COLUMN execution_id 'zeros: the event is about a job or a worker';
ALTER TABLE events COMMENT COLUMN handler 'empty: the event is about a worker';
