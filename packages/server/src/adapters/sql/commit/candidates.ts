import type { Candidate } from "../../../domain/execution.ts";
import { DEFAULT_TENANT } from "../../../domain/ids.ts";
import type { ExecutionPolicy } from "../../../domain/job.ts";
import { DEFAULT_POOL } from "../../../domain/job.ts";
import {
  POLICY_OF_NULL,
  QUEUE_CODES,
  queueOf,
  STATE_CODES,
  stateOf,
  stepsMarkOf,
  TRIGGER_CODES,
} from "../connection/codes.ts";
import type { Row } from "../connection/connections.ts";

/**
 * Columns of a candidate. The hydrator reads thousands of rows at a time, and each value costs this process more than
 * anything else of the row. A value that nearly all rows share therefore comes as NULL, which is almost free.
 */
export const CANDIDATE_COLUMNS = [
  "e.id",
  "e.job_id",
  "e.shard",
  "e.rank",
  "e.due_at",
  "nullif(e.scheduled_at, e.due_at)",
  "nullif(e.payload_bytes, 0)",
  "e.handler",
  `nullif(e.tenant, '${DEFAULT_TENANT}')`,
  `nullif(e.pool, '${DEFAULT_POOL}')`,
  "e.requires",
  "e.policy",
  "nullif(e.job_version, 1)",
  "e.concurrency_key",
  "nullif(e.concurrency_limit, 1)",
  "nullif(e.has_unique_key, false)",
  "nullif(e.priority, 5)",
  `nullif(e.state, ${STATE_CODES.PENDING})`,
  `nullif(e.queue, ${QUEUE_CODES.READY})`,
  "nullif(e.attempt, 0)",
  "nullif(e.failures, 0)",
  "nullif(e.lost, 0)",
  "e.started_at",
  `CASE WHEN e.trigger = ${TRIGGER_CODES.BACKFILL} THEN e.created_at END`,
  "e.steps",
  "e.node",
  "e.item",
].join(", ");

type CandidateRow = [
  id: string,
  jobId: string,
  shard: number,
  rank: number,
  dueAt: number,
  scheduledAt: number | null,
  payloadBytes: number | null,
  handler: string,
  tenant: string | null,
  pool: string | null,
  requires: string | null,
  policy: string | null,
  jobVersion: number | null,
  concurrencyKey: string | null,
  concurrencyLimit: number | null,
  hasUniqueKey: boolean | null,
  priority: number | null,
  state: number | null,
  queue: number | null,
  attempt: number | null,
  failures: number | null,
  lost: number | null,
  startedAt: number | null,
  backfilledAt: number | null,
  steps: number | null,
  node: number | null,
  item: number | null,
];

/** @param row starts with the values of CANDIDATE_COLUMNS */
export function candidateFrom(row: Row): Candidate {
  const r = row as CandidateRow;
  return {
    id: r[0],
    jobId: r[1],
    shard: r[2],
    rank: r[3],
    dueAt: r[4],
    scheduledAt: r[5] ?? r[4],
    payloadBytes: r[6] ?? 0,
    handler: r[7],
    tenant: r[8] ?? DEFAULT_TENANT,
    pool: r[9] ?? DEFAULT_POOL,
    requires: requiresFrom(r[10]),
    policy: policyFrom(r[11]),
    jobVersion: r[12] ?? 1,
    concurrencyKey: r[13],
    concurrencyLimit: r[14] ?? 1,
    hasUniqueKey: r[15] ?? false,
    priority: r[16] ?? 5,
    state: r[17] === null ? "PENDING" : (stateOf(r[17]) as Candidate["state"]),
    queue: r[18] === null ? "READY" : queueOf(r[18]),
    attempt: r[19] ?? 0,
    failures: r[20] ?? 0,
    lost: r[21] ?? 0,
    startedAt: r[22],
    ...(r[23] !== null && { backfilledAt: r[23] }),
    ...(r[24] !== null && { steps: stepsMarkOf(r[24]) }),
    ...(r[25] !== null && { node: r[25] }),
    ...(r[26] !== null && { item: r[26] }),
  };
}

const NOTHING: readonly string[] = Object.freeze([]);

export function requiresFrom(text: string | null): readonly string[] {
  return text === null ? NOTHING : (JSON.parse(text) as string[]);
}

export function policyFrom(text: string | null): ExecutionPolicy {
  return text === null ? POLICY_OF_NULL : (JSON.parse(text) as ExecutionPolicy);
}
