import { type AttemptState, type EndedAttempt, type ExecutionError, isRun } from "../../../domain/execution.ts";
import type { ExecutionPolicy } from "../../../domain/job.ts";
import type { ExecutionSummary, ExecutionView } from "../../../ports/store-queries.ts";
import { policyFrom, requiresFrom } from "../commit/candidates.ts";
import { stateOf, triggerOf } from "../connection/codes.ts";
import type { Row } from "../connection/connections.ts";
import { payloadOf, payloadOfNode } from "../jobs/job-payloads.ts";

export const SUMMARY_COLUMNS = `e.id, e.job_id, e.shard, e.tenant, e.state, e.reason, e.attempt, e.failures, e.lost,
  e.pool, e.handler, e.priority, e.scheduled_at, e.due_at, e.worker_id, e.started_at, e.finished_at, e.created_at,
  e.updated_at, e.policy, e.trigger, nullif(e.job_version, 1), e.retry_of`;

type SummaryRow = [
  executionId: string,
  jobId: string,
  shard: number,
  tenant: string,
  state: number,
  reason: string | null,
  attempt: number,
  failures: number,
  lost: number,
  pool: string,
  handler: string,
  priority: number,
  scheduledAt: number,
  dueAt: number,
  workerId: string | null,
  startedAt: number | null,
  finishedAt: number | null,
  createdAt: number,
  updatedAt: number,
  policy: string | null,
  trigger: number,
  jobVersion: number | null,
  retryOf: string | null,
];

/** Number of columns of the summary. */
export const SUMMARY_LENGTH = 23;

/** Columns of the full view, which follow those of the summary. */
export const DETAIL_COLUMNS = `e.requires,
  CASE WHEN e.node >= 0 THEN ${payloadOfNode("e")} ELSE ${payloadOf("e", "j")} END,
  e.result, e.error, e.attempts, e.steps, e.node, e.item, e.branch`;

type DetailRow = [
  requires: string | null,
  payload: Uint8Array | null,
  result: Uint8Array | null,
  error: string | null,
  attempts: string,
  steps: number | null,
  node: number | null,
  item: number | null,
  branch: string | null,
];

export function summaryFrom(row: Row): ExecutionSummary {
  const r = row as SummaryRow;
  return {
    executionId: r[0],
    jobId: r[1],
    shard: r[2],
    tenant: r[3],
    trigger: triggerOf(r[20]),
    retryOf: r[22],
    jobVersion: r[21] ?? 1,
    state: stateOf(r[4]),
    reason: r[5],
    attempt: r[6],
    failures: r[7],
    lost: r[8],
    maxAttempts: policyFrom(r[19]).retry.maxAttempts,
    pool: r[9],
    handler: r[10],
    priority: r[11],
    scheduledAt: r[12],
    dueAt: r[13],
    workerId: r[14],
    startedAt: r[15],
    finishedAt: r[16],
    createdAt: r[17],
    updatedAt: r[18],
  };
}

export function viewFrom(row: Row): ExecutionView {
  const [requires, payload, result, error, attempts, steps, ...place] = row.slice(SUMMARY_LENGTH) as DetailRow;
  const [node, item, branch] = place;
  const policy: ExecutionPolicy = policyFrom((row as SummaryRow)[19]);
  const summary = summaryFrom(row);
  return {
    ...summary,
    requires: requiresFrom(requires),
    policy,
    payload,
    result,
    error: error === null ? null : (JSON.parse(error) as ExecutionError),
    attempts: endedAttempts(attempts),
    hasSteps: steps !== null,
    ...(node !== null && node >= 0 && { ofRun: { run: summary.jobId, node, item, branch } }),
    ...(node !== null && isRun({ node, handler: summary.handler }) && { isRun: true }),
  };
}

/** Parses ended attempts, one line each; `endedText` in commit-statement.ts writes them. */
export function endedAttempts(lines: string): EndedAttempt[] {
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [attempt, workerId, state, startedAt, finishedAt, error] = JSON.parse(line) as EndedLine;
      return { attempt, workerId, state, startedAt, finishedAt, error };
    });
}

type EndedLine = [
  attempt: number,
  workerId: string,
  state: AttemptState,
  startedAt: number | null,
  finishedAt: number,
  error: ExecutionError | null,
];
