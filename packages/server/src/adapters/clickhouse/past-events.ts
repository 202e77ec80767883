import type { AttemptState, ExecutionState, Trigger } from "@mainspring/contract/enums";
import { isFinal } from "../../domain/execution.ts";
import { attemptEndKind, END_KINDS, type LifecycleEvent, NO_EVENT_FIELDS } from "../../domain/lifecycle-event.ts";

/** A final execution as the lists of the HTTP API show it. Instants are texts in ISO 8601. */
export interface PastExecution {
  executionId: string;
  /** Job of the execution; of a node, the run of its workflow. */
  jobId: string;
  tenant: string;
  pool: string;
  handler: string;
  trigger: Trigger;
  jobVersion: number;
  state: ExecutionState;
  reason: string | null;
  /** Number of the last attempt; 0: none. */
  attempt: number;
  failures: number;
  lost: number;
  assignedWorker: string | null;
  createdAt: string;
  scheduledAt: string;
  /** First start of any attempt; null: none has started. */
  startedAt: string | null;
  /** End of the execution; null: the execution is not final. */
  finishedAt: string | null;
}

/** Fields that only the HTTP API of one execution shows. */
export interface PastDetail {
  /** Attempts that have ended, the oldest first. */
  attempts: readonly PastAttempt[];
  error: { name: string } | null;
}

interface PastAttempt {
  attempt: number;
  workerId: string;
  state: AttemptState;
  startedAt: string | null;
  finishedAt: string;
  error: { name: string } | null;
}

/** Whether the summary of an execution does not tell all of its events. */
export function needsDetail({ state, attempt }: PastExecution): boolean {
  return attempt > 1 || (attempt === 1 && state !== "SUCCEEDED") || state === "DEAD";
}

/**
 * Events that a final execution must have had, in their order, with the ids that the servers give them. Assignments are left out.
 * @param detail null: the summary tells all, or the store has removed the execution meanwhile
 */
export function pastEvents(past: PastExecution, detail: PastDetail | null): LifecycleEvent[] {
  const { state, createdAt } = past;
  const created: LifecycleEvent = {
    ...{ ...fieldsOf(past), kind: "JobCreated", at: ms(createdAt), trigger: past.trigger, createdAt: ms(createdAt) },
    ...{ state: "PENDING", failures: 0, lost: 0 },
  };
  if (!isFinal(state) || past.finishedAt === null) return [created];
  const attempts = detail?.attempts ?? onlyAttempt(past, past.finishedAt);
  const last = attempts.at(-1);
  const ended = last?.attempt === past.attempt && !isGoingOn(last.state) ? last : null;
  const finishedAt = ms(ended?.finishedAt ?? past.finishedAt);
  const started = ended?.startedAt ?? (past.attempt === 0 ? past.startedAt : null);
  const errorName = detail?.error?.name ?? null;
  const end: LifecycleEvent = {
    ...{ ...fieldsOf(past), kind: END_KINDS[state], at: finishedAt, attempt: past.attempt, state, reason: past.reason },
    ...{ workerId: ended?.workerId ?? null, finishedAt, startedAt: started === null ? null : ms(started), errorName },
  };
  return [created, ...attempts.flatMap((attempt) => attemptEvents(past, attempt, attempts)), end];
}

function attemptEvents(past: PastExecution, of: PastAttempt, all: readonly PastAttempt[]): LifecycleEvent[] {
  const { attempt, workerId, state, startedAt, finishedAt, error } = of;
  const before = all.filter((other) => other.attempt < attempt);
  const isLast = of === all.at(-1);
  const own = { ...fieldsOf(past), attempt, workerId, startedAt: startedAt === null ? null : ms(startedAt) };
  const events: LifecycleEvent[] = [];
  if (own.startedAt !== null) {
    events.push({ ...own, ...budgetsAfter(before), kind: "JobStarted", at: own.startedAt, state: "RUNNING" });
  }
  const kind = attemptEndKind(state);
  if (kind !== null) {
    const after = { ...budgetsAfter([...before, of]), state: isLast ? past.state : "PENDING" } as const;
    const reason = kind === "JobFailed" ? state : null;
    const end = { at: ms(finishedAt), finishedAt: ms(finishedAt), reason, errorName: error?.name ?? null };
    events.push({ ...own, ...after, ...end, kind });
  }
  return events;
}

/** Failed and lost attempts among these. */
function budgetsAfter(attempts: readonly PastAttempt[]): { failures: number; lost: number } {
  const lost = attempts.filter(({ state }) => state === "WORKER_LOST").length;
  const failures = attempts.filter(({ state }) => state === "FAILED" || state === "TIMED_OUT").length;
  return { failures, lost };
}

/** The attempt of an execution whose only attempt succeeded. */
function onlyAttempt(past: PastExecution, finishedAt: string): PastAttempt[] {
  const { attempt, assignedWorker: workerId, startedAt } = past;
  if (attempt !== 1 || past.state !== "SUCCEEDED" || workerId === null) return [];
  return [{ attempt, workerId, state: "SUCCEEDED", startedAt, finishedAt, error: null }];
}

function fieldsOf(past: PastExecution): Omit<LifecycleEvent, "kind" | "at"> {
  const { executionId, jobId, tenant, pool, handler, trigger, jobVersion, failures, lost } = past;
  const isOfNode = trigger === "NODE";
  return {
    ...{ ...NO_EVENT_FIELDS, executionId, tenant, pool, handler, jobVersion, failures, lost },
    ...{ jobId: isOfNode ? null : jobId, workflowId: isOfNode ? jobId : null, scheduledAt: ms(past.scheduledAt) },
  };
}

/** Whether an execution goes on after an attempt that ended in this way. */
function isGoingOn(state: AttemptState): boolean {
  return state === "RELEASED" || state === "SUSPENDED";
}

function ms(instant: string): number {
  return Date.parse(instant);
}
