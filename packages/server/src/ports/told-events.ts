import type { Trigger } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId, ShardId } from "../domain/ids.ts";
import { eventFields, type LifecycleEvent, NO_EVENT_FIELDS } from "../domain/lifecycle-event.ts";
import type { NewJob, NewRecurringJob } from "./store.ts";
import type { JobDeletion, JobReplacement, NewRun } from "./store-jobs.ts";
import { type AnyJob, isWorkflow, type NewNode, type NewRetry, type NewWorkflow } from "./store-runs.ts";

/** Events that stores write themselves, because no owner takes part in the change. */

/** Events that a transaction leaves in the inbox of a shard. */
export interface InboxEvents {
  id: string;
  shard: ShardId;
  events: readonly LifecycleEvent[];
}

/** Events of new jobs, at most one member of the inbox for each shard. */
export function inboxOfJobs(jobs: readonly AnyJob[]): InboxEvents[] {
  return bundled(jobs.map((job) => ({ id: job.executionId ?? job.jobId, shard: job.shard, events: eventsOfJob(job) })));
}

function bundled(members: readonly InboxEvents[]): InboxEvents[] {
  const byShard = new Map<ShardId, { id: string; shard: ShardId; events: LifecycleEvent[] }>();
  for (const { id, shard, events } of members) {
    const own = byShard.get(shard);
    if (own === undefined) byShard.set(shard, { id, shard, events: [...events] });
    else own.events.push(...events);
  }
  return [...byShard.values()];
}

/** Event of a further execution of a job. */
export function inboxOfRun(run: NewRun): InboxEvents {
  const trigger = run.retryOf === null ? "MANUAL" : "RETRY";
  return { id: run.executionId, shard: run.shard, events: [created(run, trigger, run.jobVersion)] };
}

/** Events of a run that repeats another one. */
export function inboxOfRetry(retry: NewRetry): InboxEvents {
  return { id: retry.executionId, shard: retry.shard, events: eventsOfRun(retry, "RETRY", retry.jobVersion) };
}

/** A new execution that repeats a dead letter. */
export interface Replay {
  executionId: ExecutionId;
  jobId: JobId;
  shard: ShardId;
  tenant: string;
  definition: Pick<NewJob["definition"], "pool" | "handler" | "scheduledAt" | "policy">;
  createdAt: EpochMs;
  jobVersion: number;
}

/** Events of replays, at most one member of the inbox for each shard. */
export function inboxOfReplays(replays: readonly Replay[]): InboxEvents[] {
  return bundled(
    replays.map((replay) => {
      const { executionId: id, shard, jobVersion } = replay;
      return { id, shard, events: [created(replay, "RETRY", jobVersion)] };
    }),
  );
}

/** @param version version of the job from now on */
export function inboxOfReplacement(
  { jobId, tenant, definition, commandId, at }: JobReplacement,
  shard: ShardId,
  version: number,
): InboxEvents {
  const { pool, handler, scheduledAt } = definition;
  const event = { ...NO_EVENT_FIELDS, kind: "JobReplaced", at, jobId, tenant, pool, handler, scheduledAt } as const;
  return { id: commandId, shard, events: [{ ...event, jobVersion: version }] };
}

/** @param id id of the member of the inbox @param job the job as it was */
export function inboxOfDeletion(
  id: string,
  { jobId, tenant, at }: JobDeletion,
  job: Pick<NewJob, "shard" | "definition">,
  jobVersion: number,
): InboxEvents {
  const { pool, handler } = job.definition;
  const event = { ...NO_EVENT_FIELDS, kind: "JobDeleted", at, jobId, tenant, pool, handler, jobVersion } as const;
  return { id, shard: job.shard, events: [event] };
}

/** Differences between the events of a commit and its writes. */
export interface Exceptions {
  /** Executions and plans of which the commit wrote nothing. */
  missed: ReadonlySet<string>;
  /** Executions that it created as SKIPPED, because their unique key was held. */
  held: ReadonlySet<string>;
  /** Steps whose earlier value counts, as `stepKey` names them. */
  unrecorded: ReadonlySet<string>;
}

/** Name of a step among those of all executions. */
export function stepKey(executionId: ExecutionId, step: string): string {
  return `${executionId}/${step}`;
}

/** The event of what a commit has written, if it has. */
export function asWritten(event: LifecycleEvent, { missed, held, unrecorded }: Exceptions): readonly LifecycleEvent[] {
  const { executionId, jobId, kind, at, step } = event;
  if (executionId === null) return jobId !== null && missed.has(jobId) ? [] : [event];
  if (kind === "JobCreated" && held.has(executionId))
    return [{ ...event, kind: "JobSkipped", state: "SKIPPED", reason: "UNIQUE_KEY_HELD", finishedAt: at }];
  if (step !== null && unrecorded.has(stepKey(executionId, step))) return [];
  return missed.has(executionId) ? [] : [event];
}

function eventsOfJob(job: AnyJob): LifecycleEvent[] {
  if (isWorkflow(job)) return eventsOfRun(job, "API", 1);
  return [job.executionId === null ? recurringCreated(job) : created(job as NewJob, "API", 1)];
}

function eventsOfRun(run: NewWorkflow | NewRetry, trigger: Trigger, jobVersion: number): LifecycleEvent[] {
  const { createdAt: at, queue, roots } = run;
  const first = created(run, trigger, jobVersion);
  if (queue !== "OPEN") return [first];
  const opened = { ...first, kind: "JobStarted", trigger: null, createdAt: null, state: "RUNNING" } as const;
  return [first, { ...opened, at, startedAt: at }, ...roots.map(rootCreated)];
}

function created(
  { executionId, jobId, tenant, definition, createdAt }: Omit<Replay, "shard" | "jobVersion">,
  trigger: Trigger,
  jobVersion: number,
): LifecycleEvent {
  const { pool, handler, scheduledAt, policy } = definition;
  return {
    ...{ ...NO_EVENT_FIELDS, kind: "JobCreated", at: createdAt, executionId, jobId, tenant, pool, handler },
    ...{ trigger, state: "PENDING", scheduledAt, createdAt, jobVersion, traceparent: policy.traceparent ?? null },
  };
}

function recurringCreated({ jobId, tenant, definition, createdAt, firstFireAt }: NewRecurringJob): LifecycleEvent {
  const { pool, handler } = definition;
  return {
    ...{ ...NO_EVENT_FIELDS, kind: "JobCreated", at: createdAt, jobId, tenant, pool, handler },
    ...{ scheduledAt: firstFireAt, createdAt, jobVersion: 1 },
  };
}

function rootCreated({ row, createdAt }: NewNode): LifecycleEvent {
  return { ...eventFields(row), kind: "JobCreated", at: createdAt, trigger: "NODE", createdAt };
}
