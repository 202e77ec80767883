import { type Static, Type } from "typebox";
import { PRIORITIES } from "./enums.ts";
import { ExecutionSummaryBody } from "./execution.ts";
import {
  AnyJson,
  CapabilityList,
  Count,
  described,
  Instant,
  InstantOrNull,
  Labels,
  Line,
  named,
  oneOf,
  orNull,
  PRINTABLE,
  StringOrNull,
  Uuid,
  Word,
} from "./fields.ts";
import { JobState, JobType } from "./job-fields.ts";
import { DEFAULT_POOL } from "./limits.ts";
import { CatchUpBody, RecurrenceFields } from "./recurrence.ts";
import { Warnings } from "./schedule.ts";

const YEAR_MS = 365 * 86_400_000;
const closed = { additionalProperties: false } as const;
const priorityNames = Object.keys(PRIORITIES) as (keyof typeof PRIORITIES)[];

const RetryFields = {
  maxAttempts: Type.Integer({ minimum: 1, maximum: 1_000, description: "failures after which it is DEAD; default 5" }),
  backoff: oneOf(["FIXED", "EXPONENTIAL"], "default EXPONENTIAL: each delay is twice the one before", "Backoff"),
  initialDelayMs: Type.Integer({ minimum: 0, maximum: YEAR_MS, description: "delay of the first retry; default 1000" }),
  maxDelayMs: Type.Integer({ minimum: 0, maximum: YEAR_MS, description: "no delay is longer; default 3600000" }),
  jitter: Type.Boolean({ description: "spreads each delay over its second half; default true" }),
};

export const OnWorkerLost = oneOf(["RETRY", "DEAD"], "consequence of a lost worker", "OnWorkerLost");

export const OnFinishBody = named(
  "OnFinish",
  {
    url: Type.String({
      minLength: 1,
      maxLength: 2_048,
      pattern: PRINTABLE,
      description: "an http or https URL; it gets a signed POST",
    }),
  },
  { ...closed, description: "the receiver of a webhook when an execution is final" },
);

/** Body of POST /v1/jobs. */
export const JobSubmission = named(
  "JobSubmission",
  {
    name: Type.Optional(Line("1 to 255 characters; among recurring jobs that are not deleted it is unique")),
    type: Type.Optional(described(JobType, "follows from the fields: schedule CRON, everySec INTERVAL, else ONCE")),
    target: named(
      "RequestedTarget",
      {
        handler: Word("the function that runs it: letters, digits and _.:/@=+-, 1 to 128 characters"),
        pool: Type.Optional(Word(`the queue and its workers; default "${DEFAULT_POOL}"`)),
        requires: Type.Optional(CapabilityList("capabilities that a worker must have; up to 32")),
      },
      closed,
    ),
    payload: Type.Optional(AnyJson("any JSON, up to 1 MiB; the handler gets it as it was sent")),
    runAt: Type.Optional(Instant("when; ISO 8601 with a zone; the past means now; not together with delayMs")),
    delayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 * YEAR_MS, description: "how long from now" })),
    startBefore: Type.Optional(Instant("not started by then, it is SKIPPED; ISO 8601 with a zone")),
    ...Type.Partial(Type.Object(RecurrenceFields)).properties,
    retryPolicy: Type.Optional(Type.Partial(Type.Object(RetryFields), { ...closed, title: "RequestedRetryPolicy" })),
    timeoutSec: Type.Optional(
      Type.Number({ minimum: 0.001, maximum: 30 * 86_400, description: "hard limit of one attempt; default 3600" }),
    ),
    maxLifetimeSec: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 10 * 365 * 86_400,
        description:
          "from its due time on, over all attempts, sleeps, waits for signals and backoffs; then it is DEAD; default 31536000",
      }),
    ),
    cancelGraceSec: Type.Optional(
      Type.Number({ minimum: 0, maximum: 3_600, description: "time to stop after a cancellation; default 10" }),
    ),
    maxLost: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000, description: "lost workers after which it is DEAD; default 3" }),
    ),
    onWorkerLost: Type.Optional(described(OnWorkerLost, "default RETRY")),
    priority: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: 9 }), oneOf(priorityNames, "by name")], {
        description: "an integer from 0 to 9, or LOW (2), NORMAL (5, the default), HIGH (7) or CRITICAL (9)",
      }),
    ),
    concurrencyKey: Type.Optional(Line("executions of one key run at most concurrencyLimit at once; up to 255")),
    concurrencyLimit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000, description: "default 1; the last writer's limit wins" }),
    ),
    uniqueKey: Type.Optional(
      Line(
        "for one at a time: at most one execution that is not final has it, and it is free again afterwards; to repeat a submit safely use the header Idempotency-Key; up to 255 characters",
      ),
    ),
    labels: Type.Optional(Labels),
    onFinish: Type.Optional(OnFinishBody),
  },
  closed,
);
export type JobSubmission = Static<typeof JobSubmission>;

export const SubmittedBody = named("SubmittedJob", {
  jobId: Uuid("the job"),
  state: oneOf(["ACTIVE"], "as it was when it was taken"),
  nextFireAt: InstantOrNull("the time it is to run at; null: at once"),
  executionId: Type.Optional(Uuid("its one execution; a recurring job gets one whenever it fires")),
  warnings: Warnings,
});
export type SubmittedBody = Static<typeof SubmittedBody>;

export const AcceptedBody = named("AcceptedJob", {
  jobId: Uuid("the job, once it is taken in"),
  executionId: Type.Optional(Uuid("its one execution; a recurring job gets one whenever it fires")),
  request: Type.String({ description: "the request, as GET /v1/requests/{requestId} takes it, such as 12-34567" }),
});
export type AcceptedBody = Static<typeof AcceptedBody>;

export const DeduplicatedBody = named("DeduplicatedJob", {
  jobId: Uuid("the job that holds the unique key"),
  state: oneOf(["ACTIVE"], "what holds a unique key is not final"),
  executionId: Uuid("the execution that holds the unique key"),
  deduplicated: Type.Literal(true),
});
export type DeduplicatedBody = Static<typeof DeduplicatedBody>;

export const ChangedBody = named("ChangedJob", {
  jobId: Uuid("the job"),
  state: described(JobState, "what is FINISHED or DELETED cannot be changed"),
  version: Count("of the definition, from 1; also in the header ETag"),
  changed: Type.Boolean({ description: "false: the job had this definition already" }),
  nextFireAt: InstantOrNull("the time that it is to run at; null: at once, it runs already, or it is being planned"),
  executionId: orNull(Uuid("an execution"), "of a one-time job: the newest that has not ended"),
  execution: oneOf(
    ["REPLACED", "KEPT", "REQUESTED", "UNCHANGED", "CREATED"],
    "REPLACED: it runs by the new definition. KEPT: it was assigned or running already and keeps what it started with, also " +
      "for its retries. REQUESTED: its owner has not answered yet. UNCHANGED: there was nothing new. CREATED: the job is new. " +
      "A recurring job uses the new definition for all later instants; executions that have fired keep the one they started with",
  ),
  warnings: Warnings,
});
export type ChangedBody = Static<typeof ChangedBody>;

export const DeletedBody = named("DeletedJob", {
  jobId: Uuid("the job"),
  state: oneOf(["DELETED"], "what waits of it is cancelled in a moment"),
});

const summaryFields = {
  jobId: Uuid("the job"),
  tenant: Type.String(),
  name: StringOrNull("as submitted"),
  type: JobType,
  state: JobState,
  version: Count("grows with every change of the definition"),
  nextFireAt: InstantOrNull(
    "the time it is to run at next, while that lies ahead and is known; null while it is PAUSED",
  ),
  priority: Type.Integer({ minimum: 0, maximum: 9 }),
  runAt: Type.Optional(Instant("when it was or is due; recurring jobs have none")),
  labels: Type.Record(Type.String(), Type.String()),
  createdAt: Instant("when it was taken"),
  updatedAt: Instant("when its row was last written"),
};

export const JobSummaryBody = named("JobSummary", {
  ...summaryFields,
  target: named("TargetSummary", { pool: Type.String(), handler: Type.String() }),
});
export type JobSummaryBody = Static<typeof JobSummaryBody>;

const PlanFields = {
  fires: Count("how often a recurring job has fired, which maxFires bounds"),
  catchUps: Type.Array(CatchUpBody, { description: "stretches of the past that are made up for now" }),
};

export const JobBody = named("Job", {
  ...summaryFields,
  target: named("Target", { pool: Type.String(), handler: Type.String(), requires: Type.Array(Type.String()) }),
  payload: AnyJson("as it was submitted; null: none"),
  startBefore: InstantOrNull("not started by then, it is SKIPPED"),
  retryPolicy: named("RetryPolicy", RetryFields),
  timeoutSec: Type.Number(),
  maxLifetimeSec: Type.Number({ description: "from its due time on, over all attempts" }),
  cancelGraceSec: Type.Number(),
  maxLost: Type.Integer(),
  onWorkerLost: OnWorkerLost,
  onFinish: orNull(OnFinishBody, "as submitted"),
  concurrencyKey: StringOrNull("as submitted"),
  concurrencyLimit: Type.Integer(),
  uniqueKey: StringOrNull("as submitted"),
  ...Type.Partial(Type.Object({ ...RecurrenceFields, ...PlanFields })).properties,
  latestExecutions: Type.Array(ExecutionSummaryBody, { description: "the newest five" }),
});
export type JobBody = Static<typeof JobBody>;
