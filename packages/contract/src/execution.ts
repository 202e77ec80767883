import { type Static, Type } from "typebox";
import { ATTEMPT_STATES, EXECUTION_STATES, FINAL_STATES, RUN_MODES, TRIGGERS } from "./enums.ts";
import {
  AnyJson,
  Count,
  Instant,
  InstantOrNull,
  named,
  oneOf,
  orNull,
  PRINTABLE,
  StringOrNull,
  Uuid,
} from "./fields.ts";
import { WORD_CHARS_MAX } from "./limits.ts";

export const ExecutionState = oneOf(
  EXECUTION_STATES,
  "SUCCEEDED, CANCELLED, SKIPPED and DEAD are final",
  "ExecutionState",
);

export const FinalState = oneOf(FINAL_STATES, "how an execution ended", "FinalState");
export const Trigger = oneOf(TRIGGERS, "origin of an execution", "Trigger");

export const RunMode = oneOf(
  RUN_MODES,
  "RUNNING: nodes start when their dependencies allow it. FAILING: only nodes that may handle a failure still start. CANCELLING and EXPIRING: no node starts, because of a cancellation or the deadline. COMPENSATING: its nodes have ended, and those that SUCCEEDED are compensated",
  "RunMode",
);

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

const printable = { minLength: 1, maxLength: WORD_CHARS_MAX, pattern: PRINTABLE } as const;

const recordFields = {
  attempt: Count("the attempt that made the record"),
  recordedAt: Instant("when the server took the record"),
};

export const RecordedStepBody = named("RecordedStep", {
  name: Type.String({ description: "name of the step, as the handler gave it" }),
  ...recordFields,
  bytes: Count("size of the value as JSON, in bytes"),
});

export const CheckpointBody = named("Checkpoint", { data: AnyJson("as the handler gave it"), ...recordFields });

/** The records of an execution's handlers, with their values. */
export const StepsBody = named("ExecutionSteps", {
  executionId: Uuid("the execution"),
  steps: Type.Array(
    named("StepWithValue", {
      name: Type.String({ description: "name of the step, as the handler gave it" }),
      ...recordFields,
      value: AnyJson("value of the step, which later attempts get; null: it has none"),
    }),
    { description: "in the order in which they were recorded" },
  ),
  waits: Type.Array(
    named("StepWait", {
      name: Type.String({ description: "name of the step, as the handler gave it" }),
      ...recordFields,
      until: Instant("when the wait is over"),
      signals: Type.Array(Type.String(), { description: "names of the signals that end it earlier; none: it sleeps" }),
    }),
    { description: "steps for which an attempt suspended, and which have no value yet" },
  ),
  signals: Type.Array(
    named("OpenSignal", {
      signalId: Type.String(),
      name: Type.String(),
      data: AnyJson("as it was sent; null: none"),
      acceptedAt: Instant("when the server took the signal"),
    }),
    { description: "signals that no step has consumed, in the order in which they were taken" },
  ),
  checkpoint: orNull(CheckpointBody, "the newest checkpoint"),
});
export type StepsBody = Static<typeof StepsBody>;

/** An execution as lists show it. */
export const ExecutionSummaryBody = named("ExecutionSummary", { ...summaryFields, ...times });
export type ExecutionSummaryBody = Static<typeof ExecutionSummaryBody>;

export const ExecutionBody = named("Execution", {
  ...summaryFields,
  workflowId: Type.Optional(Uuid("the run of a workflow: it is the run or a node of it; left out: it is neither")),
  node: Type.Optional(Type.String({ description: "name of the node in the workflow; left out: it is no node" })),
  payload: AnyJson("as it was submitted, also if it has references; null: none"),
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
  steps: Type.Array(RecordedStepBody, {
    description: "durable steps, in the order in which they were recorded; `/steps` has their values",
  }),
  checkpoint: orNull(CheckpointBody, "the newest checkpoint"),
  ...times,
});
export type ExecutionBody = Static<typeof ExecutionBody>;

export const AttemptLogsBody = named("AttemptLogs", {
  executionId: Uuid("the execution"),
  attempt: Count("the attempt that logged the lines"),
  url: StringOrNull("where another system shows the lines (MAINSPRING_LOG_URL), which are then not here"),
  lines: Type.Array(
    named("LoggedLine", {
      at: Instant("when the server received it"),
      level: Type.String(),
      line: Type.String(),
    }),
    { description: "the last lines, oldest first; 64 KiB of text and 4096 lines at most" },
  ),
  droppedLines: Count("earlier lines that are not kept"),
});
export type AttemptLogsBody = Static<typeof AttemptLogsBody>;

export const CancelBody = named("CancelledExecution", {
  executionId: Uuid("the execution"),
  state: orNull(ExecutionState, "null with durable: false, because the store did not answer"),
  cancelRequested: Type.Boolean({ description: "true: it ends as soon as its worker has stopped it" }),
  durable: Type.Optional(
    Type.Literal(false, {
      description:
        "only where the store did not answer and the servers have a Redis: its worker is told to stop, and the request is kept for up to 24 hours, until the store is back. It is lost if Redis loses its data before",
    }),
  ),
});
export type CancelBody = Static<typeof CancelBody>;

const closed = { additionalProperties: false } as const;

export const SignalRequest = named(
  "SignalRequest",
  {
    name: Type.String({
      ...printable,
      description: "which signal: a name that the handler waits for, or will wait for",
    }),
    data: Type.Optional(AnyJson("what the handler gets, at most 64 KiB")),
    id: Type.Optional(
      Type.String({
        ...printable,
        description: "the same in each repetition of a request, so that the signal is taken once; default: a new one",
      }),
    ),
  },
  closed,
);
export type SignalRequest = Static<typeof SignalRequest>;

export const SignalBody = named("AcceptedSignal", {
  signalId: Type.String(),
  name: Type.String(),
  acceptedAt: Instant("when the server took the signal"),
  isRepeated: Type.Boolean({ description: "true: an earlier request has sent the signal" }),
});
export type SignalBody = Static<typeof SignalBody>;

export const RetryRequest = named(
  "RetryRequest",
  {
    keepSteps: Type.Optional(
      Type.Boolean({
        description:
          "Whether the new execution gets the steps, the checkpoint and the unconsumed signals of the one that it repeats; default false: its handler runs every step",
      }),
    ),
  },
  { additionalProperties: false },
);
export type RetryRequest = Static<typeof RetryRequest>;

export const RetriedBody = named("RetriedExecution", {
  executionId: Uuid("the new execution"),
  jobId: Uuid("its job"),
  retryOf: Uuid("the execution that it repeats"),
});
