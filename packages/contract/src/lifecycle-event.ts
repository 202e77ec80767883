import { type Static, Type } from "typebox";
import { EVENT_KINDS } from "./enums.ts";
import { ExecutionState, Trigger } from "./execution.ts";
import { Count, Instant, InstantOrNull, named, oneOf, orNull, StringOrNull, Uuid } from "./fields.ts";

export const EventKind = oneOf(
  EVENT_KINDS,
  "JobCreated to JobDeadLettered tell the life of an execution, JobSuspended the end of an attempt that sleeps or waits for signals; JobReplaced and JobDeleted tell changes of a job; StepRecorded tells the value of a durable step; WorkerRegistered and WorkerDead tell sessions of workers",
  "EventKind",
);

/** Fields of an event beside its kind and its time. */
export const EventDataBody = named("EventData", {
  executionId: orNull(Uuid("the execution"), "the execution; null: the event is about a job or a worker"),
  jobId: orNull(
    Uuid("the job"),
    "the job; null: the execution is that of a node of a workflow, or the event is about a worker",
  ),
  workflowId: orNull(Uuid("a run"), "the run of a workflow whose node the execution is"),
  nodeNumber: orNull(Count("from 0"), "the place of the node in the list of its workflow's nodes"),
  item: orNull(Count("from 0"), "the index of the item of a map"),
  tenant: Type.String(),
  pool: Type.String(),
  handler: Type.String({ description: "the handler; empty: the event is about a worker" }),
  trigger: orNull(Trigger, "origin of the execution; null but in JobCreated"),
  attempt: Count("the attempt, from 1; 0: no attempt"),
  workerId: StringOrNull("the worker of the attempt or the session"),
  state: orNull(ExecutionState, "the state after the change"),
  reason: StringOrNull("why it is in this state, where the state does not say it"),
  scheduledAt: InstantOrNull(
    "when the execution was to run; of JobSkipped without an execution, the first skipped instant",
  ),
  createdAt: InstantOrNull("when the server took the execution or the job; null but in JobCreated"),
  startedAt: InstantOrNull("when the attempt started"),
  finishedAt: InstantOrNull("when the attempt or the execution ended"),
  failures: Count("attempts that failed or timed out"),
  lost: Count("attempts whose worker was lost"),
  errorName: StringOrNull("name of the error that the attempt failed with"),
  step: StringOrNull("name of the step; null but in StepRecorded"),
  session: orNull(
    Uuid("a session"),
    "the session of the worker with a server; null but in WorkerRegistered and WorkerDead",
  ),
  jobVersion: Count("after JobReplaced the new version of the job, else the version that the execution runs by"),
});
export type EventDataBody = Static<typeof EventDataBody>;

/** An event in the JSON format of CloudEvents 1.0. */
export const CloudEventBody = named("CloudEvent", {
  specversion: Type.Literal("1.0"),
  id: Type.String({
    description:
      "the same in every repeat: EXECUTION/ATTEMPT/KIND, or EXECUTION/StepRecorded/NAME, or WORKER/SESSION/KIND; without an execution JOB/vVERSION/KIND, or JOB/MILLISECONDS/JobSkipped",
  }),
  source: Type.Literal("/mainspring"),
  type: EventKind,
  subject: Type.String({
    description: "the execution, the job of an event about a job, or the worker of an event about a worker",
  }),
  time: Instant("when the change happened"),
  datacontenttype: Type.Literal("application/json"),
  traceparent: Type.Optional(
    Type.String({ description: "the W3C trace context that the job's submit had; left out: the execution keeps none" }),
  ),
  data: EventDataBody,
});
export type CloudEventBody = Static<typeof CloudEventBody>;
