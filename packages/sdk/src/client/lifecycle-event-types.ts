import type { ExecutionState, ExecutionSummary } from "./api-types.ts";

export const EVENT_KINDS = [
  "JobCreated",
  "JobAssigned",
  "JobStarted",
  "JobFailed",
  "JobSuspended",
  "JobCompleted",
  "JobCancelled",
  "JobSkipped",
  "JobDeadLettered",
  "JobReplaced",
  "JobDeleted",
  "StepRecorded",
  "WorkerRegistered",
  "WorkerDead",
] as const;
/** Kinds of events. JobFailed tells the end of an attempt that did not succeed; the execution may run again. JobSuspended tells that of an attempt that sleeps or waits for signals. */
export type EventKind = (typeof EVENT_KINDS)[number];

/** A change in the life of an execution or a job, or of a worker's session, as a CloudEvent, and its position in the stream. */
export interface LifecycleEvent {
  /** Position from which a later stream goes on. It may repeat events that were written together with this one. */
  position: string;
  specversion: "1.0";
  /** Identity, which is the same in every repeat of the event. */
  id: string;
  source: "/mainspring";
  type: EventKind;
  /** Id of the execution, of the job if the event is about a job, or of the worker if it is about a worker. */
  subject: string;
  /** Time of the change. */
  time: string;
  datacontenttype: "application/json";
  /** Trace context by W3C that the job's submit had; absent: the execution keeps none. */
  traceparent?: string;
  data: EventData;
}

/** Fields of an event. null: the kind of event does not have the field, or its value is not known. */
export interface EventData {
  /** null: the event is about a job or a worker. */
  executionId: string | null;
  /** null: the execution is that of a node of a workflow, or the event is about a worker. */
  jobId: string | null;
  /** Run of the workflow whose node the execution is. */
  workflowId: string | null;
  /** Place of the node in the list of its workflow's nodes, from 0. */
  nodeNumber: number | null;
  /** Index of the item of a map. */
  item: number | null;
  tenant: string;
  pool: string;
  /** Empty: the event is about a worker. */
  handler: string;
  /** Origin of the execution; only in JobCreated. */
  trigger: ExecutionSummary["trigger"] | null;
  /** Number of the attempt, from 1; 0: no attempt. */
  attempt: number;
  /** Worker of the attempt or the session. */
  workerId: string | null;
  /** State after the change. */
  state: ExecutionState | null;
  reason: string | null;
  /** Time at which the execution was to run. */
  scheduledAt: string | null;
  /** Only in JobCreated. */
  createdAt: string | null;
  /** Start of the attempt. */
  startedAt: string | null;
  /** End of the attempt or the execution. */
  finishedAt: string | null;
  /** Number of attempts that failed or timed out. */
  failures: number;
  /** Number of attempts whose worker was lost. */
  lost: number;
  /** Name of the error that the attempt failed with. */
  errorName: string | null;
  /** Name of the step; only in StepRecorded. */
  step: string | null;
  /** Session of the worker with a server; only in WorkerRegistered and WorkerDead. */
  session: string | null;
  /** Version of the job after JobReplaced; otherwise the version that the execution runs by. */
  jobVersion: number;
}

/** Which events a stream has, and where it begins. An event has one of the values of each field. */
export interface EventFilter {
  /** `position` of an event: the stream goes on behind it. oldest: the oldest event that is kept. Default: from now on. */
  after?: string;
  /** now: the stream ends with the last event that there is at the request. Default: it goes on. */
  until?: "now";
  kinds?: readonly EventKind[];
  pool?: string | readonly string[];
  handler?: string | readonly string[];
  jobId?: string | readonly string[];
  /** The run of a workflow, with its nodes. */
  workflowId?: string | readonly string[];
  executionId?: string | readonly string[];
  /** Events of the worker's session, and of attempts that it ran. */
  workerId?: string | readonly string[];
  signal?: AbortSignal;
  /**
   * Time without any answer of a server after which the stream fails with UNAVAILABLE, in seconds. Every answer starts
   * the time again. 0: at the first failure. Infinity: never. Default: 300.
   */
  giveUpAfterSec?: number;
}
