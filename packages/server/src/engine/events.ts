import type { Candidate, EndedAttempt, ExecutionError, FinalState, Trigger } from "../domain/execution.ts";
import type { EpochMs, ExecutionId, JobId, ShardId, WorkerId } from "../domain/ids.ts";
import {
  attemptEndKind,
  END_KINDS,
  eventFields,
  type LifecycleEvent,
  NO_EVENT_FIELDS,
  tellsEnd,
} from "../domain/lifecycle-event.ts";
import type { Skip } from "../domain/recurrence.ts";
import { type EndDelivery, endDelivery } from "../domain/webhook.ts";
import type { ReportedStep } from "../ports/step-messages.ts";
import type { Batch, ShardDraft } from "./batch.ts";
import type { Assigned, Entry } from "./entry.ts";
import type { Planned } from "./recurring/plans.ts";
import type { Step } from "./state.ts";

/**
 * Lifecycle events of what a batch writes. The store writes the events of a commit with the commit, and leaves out those of
 * rows that it did not write, and so it does with the deliveries of ends. So an event needs no confirmation, and no owner repeats one at a takeover.
 */

/** An execution was created. @param shard shard under whose fence the batch creates it */
export function tellCreated(step: Step, shard: ShardId, row: Candidate, trigger: Trigger, createdAt: EpochMs): void {
  const { state, batch } = step;
  deliverIfSkipped(step, shard, row);
  if (state.events) add(batch, shard, { ...eventFields(row), kind: "JobCreated", at: createdAt, trigger, createdAt });
}

/** The current attempt of an execution was assigned to a worker. */
export function tellAssigned({ state, batch, now }: Step, row: Candidate, { workerId }: Assigned): void {
  if (!state.events) return;
  add(batch, row.shard, { ...eventFields(row), kind: "JobAssigned", at: now, workerId, state: "SCHEDULED" });
}

/**
 * An attempt has started. The event goes with the next write of the execution's row, as the start itself does.
 * @param startedAt null: the attempt is not known to have started
 */
export function tellStarted(
  { state, batch }: Step,
  { row }: Entry,
  assigned: Assigned,
  startedAt: EpochMs | null,
): void {
  if (!state.events || startedAt === null || assigned.isStartTold) return;
  assigned.isStartTold = true;
  const { workerId } = assigned;
  add(batch, row.shard, {
    ...eventFields(row),
    kind: "JobStarted",
    at: startedAt,
    workerId,
    state: "RUNNING",
    startedAt,
  });
}

/** The run of a workflow was opened. */
export function tellOpened({ state, batch, now }: Step, row: Candidate): void {
  if (!state.events) return;
  add(batch, row.shard, { ...eventFields(row), kind: "JobStarted", at: now, state: "RUNNING", startedAt: now });
}

/** The value of a step was recorded. */
export function tellRecorded({ state, batch, now }: Step, row: Candidate, report: RecordedResult): void {
  if (!state.events) return;
  const { workerId, name: step, signalId } = report;
  const reason = signalId === undefined ? null : "SIGNAL";
  add(batch, row.shard, {
    ...eventFields(row),
    kind: "StepRecorded",
    at: now,
    workerId,
    state: "RUNNING",
    reason,
    step,
  });
}

/** An attempt has ended. @param next state of the execution after it */
export function tellAttemptEnded(
  { state, batch }: Step,
  row: Candidate,
  { workerId, state: end, startedAt, finishedAt, error }: EndedAttempt,
  next: LifecycleEvent["state"],
): void {
  const kind = attemptEndKind(end);
  if (!state.events || kind === null) return;
  add(batch, row.shard, {
    ...{ ...eventFields(row), kind, at: finishedAt, workerId, state: next },
    ...{ reason: kind === "JobFailed" ? end : null, startedAt, finishedAt, errorName: error?.name ?? null },
  });
}

type RecordedResult = Pick<ReportedStep, "workerId" | "name" | "signalId">;

/** End of an execution. */
interface End {
  reason?: string | null;
  error?: ExecutionError | null;
  /** Attempt that ended it; left out or null: none did. */
  ended?: EndedAttempt | null;
}

/** An execution is final. */
export function tellEnded(
  { state, batch, now }: Step,
  row: Candidate,
  end: FinalState,
  { reason = null, error = null, ended = null }: End,
): void {
  const { onFinish } = row.policy;
  if (!state.events && onFinish === undefined) return;
  const finishedAt = ended?.finishedAt ?? now;
  const workerId: WorkerId | null = ended?.workerId ?? null;
  const startedAt = ended === null ? (row.queue === "OPEN" ? row.startedAt : null) : ended.startedAt;
  const event = {
    ...{ ...eventFields(row), executionId: row.id, kind: END_KINDS[end], at: finishedAt, workerId, state: end, reason },
    ...{ startedAt, finishedAt, errorName: error?.name ?? null },
  };
  if (state.events) add(batch, row.shard, event);
  if (onFinish !== undefined) deliver(batch, row.shard, endDelivery(onFinish, event));
}

/**
 * Delivers the end of an occurrence that the store creates as SKIPPED because its unique key is held. The store drops the
 * delivery if it creates the occurrence otherwise.
 */
function deliverIfSkipped({ batch, now }: Step, shard: ShardId, row: Candidate): void {
  const { onFinish } = row.policy;
  if (onFinish === undefined || !row.hasUniqueKey) return;
  const end = { kind: "JobSkipped", at: now, state: "SKIPPED", reason: "UNIQUE_KEY_HELD", finishedAt: now } as const;
  deliver(batch, shard, endDelivery(onFinish, { ...eventFields(row), executionId: row.id, ...end }));
}

/** A plan has skipped instants. */
export function tellSkips({ state, batch, now }: Step, { job, shard, jobId }: Planned, skips: readonly Skip[]): void {
  if (!state.events) return;
  const { tenant, version: jobVersion, definition } = job;
  const { pool, handler } = definition;
  const ofJob = { ...NO_EVENT_FIELDS, jobId, tenant, pool, handler, jobVersion };
  for (const { from, reason } of skips) {
    add(batch, shard, { ...ofJob, kind: "JobSkipped", at: now, state: "SKIPPED", reason, scheduledAt: from });
  }
}

/** Takes back the events of executions that the batch does not create any more. */
export function withdrawEvents(draft: ShardDraft, executions: ReadonlySet<ExecutionId>): void {
  draft.deliveries = draft.deliveries?.filter(({ event }) => !executions.has(event.executionId)) ?? null;
  if (draft.events === null) return;
  draft.events = draft.events.filter(({ executionId }) => executionId === null || !executions.has(executionId));
}

/** Takes back the events of skips of a plan that the batch does not write. */
export function withdrawSkips(draft: ShardDraft, job: JobId): void {
  if (draft.events === null) return;
  draft.events = draft.events.filter(
    ({ executionId, jobId, kind }) => executionId !== null || kind !== "JobSkipped" || jobId !== job,
  );
}

/**
 * Repeats the events of an execution whose final change the store has refused, with the end that the next batch writes
 * instead. The store has refused the records of steps with the change, so their events are not repeated.
 */
export function retellAsDead(answered: ShardDraft | undefined, next: Batch, shard: ShardId, id: ExecutionId): void {
  for (const event of answered?.events ?? []) {
    if (event.executionId !== id || event.kind === "StepRecorded") continue;
    add(next, shard, tellsEnd(event.kind) ? { ...event, ...REFUSED_END } : event);
  }
  for (const { url, event } of answered?.deliveries ?? []) {
    if (event.executionId === id) deliver(next, shard, endDelivery({ url }, { ...event, ...REFUSED_END }));
  }
}

const REFUSED_END = {
  kind: "JobDeadLettered",
  state: "DEAD",
  reason: "RESULT_REFUSED",
  errorName: "ResultRefused",
} as const;

function deliver(batch: Batch, shard: ShardId, delivery: EndDelivery): void {
  const draft = batch.shard(shard);
  if (draft.deliveries === null) draft.deliveries = [delivery];
  else draft.deliveries.push(delivery);
}

function add(batch: Batch, shard: ShardId, event: LifecycleEvent): void {
  const draft = batch.shard(shard);
  if (draft.events === null) draft.events = [event];
  else draft.events.push(event);
}
