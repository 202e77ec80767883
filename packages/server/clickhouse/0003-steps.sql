-- Steps of handlers. Views about executions leave their events out by themselves: such an event has no times, no end and the lowest version of its
-- attempt.
ALTER TABLE events ADD COLUMN IF NOT EXISTS step Nullable(String) COMMENT 'name of the step, in StepRecorded' AFTER error_name;
ALTER TABLE events COMMENT COLUMN kind 'JobCreated, JobAssigned, JobStarted, JobFailed, JobCompleted, JobCancelled, JobSkipped, JobDeadLettered, JobReplaced, JobDeleted, StepRecorded';
