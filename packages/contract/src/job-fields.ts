import { JOB_STATES, JOB_TYPES } from "./enums.ts";
import { oneOf } from "./fields.ts";

export const JobState = oneOf(
  JOB_STATES,
  "FINISHED: its executions are final, or nothing of it is planned any more. Only recurring jobs are PAUSED",
  "JobState",
);
export const JobType = oneOf(JOB_TYPES, "when it runs: once, by a cron expression, or at an interval", "JobType");
