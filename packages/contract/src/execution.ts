import { type Static, Type } from "typebox";
import { ATTEMPT_STATES, EXECUTION_STATES, FINAL_STATES, TRIGGERS } from "./enums.ts";
import { AnyJson, Count, Instant, InstantOrNull, named, oneOf, orNull, StringOrNull, Uuid } from "./fields.ts";

export const ExecutionState = oneOf(
  EXECUTION_STATES,
  "SUCCEEDED, CANCELLED, SKIPPED and DEAD are final",
  "ExecutionState",
);

export const FinalState = oneOf(FINAL_STATES, "how an execution ended", "FinalState");
export const Trigger = oneOf(TRIGGERS, "what made an execution", "Trigger");

export const ErrorBody = named("ExecutionError", {
  name: Type.String(),
  message: Type.String(),
  stack: Type.Optional(Type.String()),
});

export const AttemptBody = named("Attempt", {
  attempt: Count("from 1"),
  workerId: Type.String(),
  state: oneOf(ATTEMPT_STATES, "how it ended", "AttemptState"),
  startedAt: InstantOrNull("null: it never started"),
  finishedAt: Instant("when it ended"),
  error: orNull(ErrorBody, "what it failed with"),
});

export const summaryFields = {
  executionId: Uuid("the execution"),
  jobId: Uuid("its job"),
  tenant: Type.String(),
  trigger: Trigger,
  retryOf: orNull(Uuid("an execution"), "the execution that it repeats"),
  jobVersion: Count("which version of its job's definition it runs by"),
  state: ExecutionState,
  reason: StringOrNull("why it is in its state, where the state does not say it"),
  attempt: Count("the current or last attempt; 0: none yet"),
  failures: Count("attempts that failed or timed out"),
  lost: Count("attempts whose worker was lost"),
  maxAttempts: Count("failures after which it is DEAD"),
  pool: Type.String(),
  handler: Type.String(),
  priority: Type.Integer({ minimum: 0, maximum: 9 }),
  scheduledAt: Instant("when it was to run"),
  assignedWorker: StringOrNull("who holds it, or held it last"),
  startedAt: InstantOrNull("first start of any attempt"),
  finishedAt: InstantOrNull("when it became final"),
  latenessMs: orNull(Type.Integer(), "first start minus scheduled time, or minus `createdAt` where a backfill made it"),
};
export const times = {
  createdAt: Instant("when it was taken"),
  updatedAt: Instant("when its row was last written"),
};

/** An execution as lists show it. */
export const ExecutionSummaryBody = named("ExecutionSummary", { ...summaryFields, ...times });
export type ExecutionSummaryBody = Static<typeof ExecutionSummaryBody>;

export const ExecutionBody = named("Execution", {
  ...summaryFields,
  payload: AnyJson("as it was submitted; null: none"),
  result: AnyJson("as the handler returned it; null: none"),
  error: orNull(ErrorBody, "what the last attempt failed with"),
  progress: orNull(
    named("Progress", {
      fraction: Type.Number({ minimum: 0, maximum: 1 }),
      message: Type.String(),
      at: Instant("when the handler said so"),
    }),
    "the latest that the running attempt has said",
  ),
  attempts: Type.Array(AttemptBody, { description: "those that ended, oldest first" }),
  ...times,
});
export type ExecutionBody = Static<typeof ExecutionBody>;

export const CancelBody = named("CancelledExecution", {
  executionId: Uuid("the execution"),
  state: ExecutionState,
  cancelRequested: Type.Boolean({ description: "true: it ends as soon as its worker has stopped it" }),
});
export type CancelBody = Static<typeof CancelBody>;

export const RetriedBody = named("RetriedExecution", {
  executionId: Uuid("the new execution"),
  jobId: Uuid("its job"),
  retryOf: Uuid("the execution that it repeats"),
});
