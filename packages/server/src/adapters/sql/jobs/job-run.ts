import { RUN_NODE } from "../../../domain/execution.ts";
import type { NewRun, RunOutcome } from "../../../ports/store-jobs.ts";
import { inboxOfRun } from "../../../ports/told-events.ts";
import { SETTLED_CODES } from "../commit/settle-statement.ts";
import { QUEUE_CODES, RUN_MODE_CODES, STATE_CODES, STEPS_MARK_CODES, TRIGGER_CODES } from "../connection/codes.ts";
import type { Session } from "../connection/connections.ts";
import type { EventInbox } from "../events/inbox.ts";
import { claimUniqueKeys } from "../submit/unique-keys.ts";
import { policyText, requiresText } from "./job-columns.ts";
import { lockJob } from "./locked-job.ts";

/**
 * The statement locks the execution before its job, as replays do. So this transaction sees the effect of a replay in
 * progress, and a later replay finds the letter settled.
 */
export const LOCK_EXECUTION = "SELECT 1 FROM executions WHERE id = $1 AND job_id = $2 FOR UPDATE";

/** A dead letter whose execution runs again leaves the list. */
export const SETTLE = `UPDATE executions SET settled = ${SETTLED_CODES.REPLAY}
  WHERE id = $1 AND state = ${STATE_CODES.DEAD} AND settled IS NULL`;

const INSERT = `
  INSERT INTO executions (id, job_id, lane, rank, due_at, scheduled_at, created_at, updated_at, concurrency_limit,
    payload_bytes, shard, state, queue, priority, trigger, has_unique_key, tenant, pool, handler, requires, policy,
    concurrency_key, job_version, retry_of)
  VALUES ($1, $2, $3, $4, $5, $5, $6, $6, $7, $8, $9, ${STATE_CODES.PENDING}, $10, $11, $12, $13,
    $14, $15, $16, $17, $18, $19, $20, $21)`;

/** Makes the new execution the run of a workflow. */
const MAKE_RUN = `
  WITH run AS (
    INSERT INTO workflow_runs (run, shard, revision, mode) VALUES ($1, $2, 1, ${RUN_MODE_CODES.RUNNING})
  )
  UPDATE executions SET node = ${RUN_NODE} WHERE id = $1`;

/** Records of attempt 0 are those of another execution. */
const KEEP_STEPS = `
  WITH step AS (
    INSERT INTO execution_steps (execution_id, name, kind, attempt, number, at, data)
    SELECT $2, name, kind, 0, number, at, data FROM execution_steps WHERE execution_id = $1 RETURNING 1
  ), signal AS (
    INSERT INTO signals (execution_id, id, name, data, at)
    SELECT $2, id, name, data, at FROM signals WHERE execution_id = $1 AND taken_by IS NULL RETURNING 1
  )
  UPDATE executions SET steps = ${STEPS_MARK_CODES.RECORDED}
  WHERE id = $2 AND (EXISTS (SELECT FROM step) OR EXISTS (SELECT FROM signal)) RETURNING 1`;

/** See StoreJobs.run; runs within a transaction. */
export async function run(session: Session, asked: NewRun, inbox: EventInbox): Promise<RunOutcome> {
  const { retryOf } = asked;
  const isKnown =
    retryOf === null || (await session.run({ text: LOCK_EXECUTION, values: [retryOf, asked.jobId] })).length > 0;
  const job = await lockJob(session, asked.tenant, asked.jobId);
  if (job === null || !isKnown) return { kind: "NOT_FOUND" };
  if (job.state === "DELETED") return { kind: "DELETED" };
  const startsRun = job.definition.recurrence?.startsWorkflow === true && retryOf === null;
  if (job.isWorkflow && !startsRun) return { kind: "IS_WORKFLOW" };
  // Executions of a recurring job wait for each other only if its schedule says so.
  const open = job.definition.recurrence === null ? job.open[0] : job.open.find((id) => id === retryOf);
  if (open !== undefined) return { kind: "NOT_FINAL", executionId: open };
  if (job.version !== asked.jobVersion) return { kind: "OTHER_VERSION", version: job.version };
  const [holder] = (await claimUniqueKeys(session, [asked])).values();
  if (holder !== undefined) return { kind: "KEY_HELD", executionId: holder.executionId };
  if (retryOf !== null) await session.run({ text: SETTLE, values: [retryOf] });
  await session.run({ text: INSERT, values: valuesOf(asked) });
  await inbox.leave(session, () => [inboxOfRun(asked)]);
  if (startsRun) await session.run({ text: MAKE_RUN, values: [asked.executionId, asked.shard] });
  if (retryOf === null || asked.keepsSteps !== true) return { kind: "ACCEPTED" };
  const marked = await session.run({ text: KEEP_STEPS, values: [retryOf, asked.executionId] });
  return marked.length === 0 ? { kind: "ACCEPTED" } : { kind: "ACCEPTED", steps: "RECORDED" };
}

function valuesOf(row: NewRun): unknown[] {
  const { pool, handler, requires, policy, priority, scheduledAt } = row.definition;
  const { concurrencyKey, concurrencyLimit, uniqueKey } = row.definition;
  return [
    ...[row.executionId, row.jobId, row.laneHash, row.rank, scheduledAt, row.createdAt, concurrencyLimit],
    ...[row.payload?.length ?? 0, row.shard, QUEUE_CODES[row.queue], priority],
    ...[row.retryOf === null ? TRIGGER_CODES.MANUAL : TRIGGER_CODES.RETRY, uniqueKey !== null, row.tenant],
    ...[pool, handler, requiresText(requires), policyText(policy), concurrencyKey, row.jobVersion, row.retryOf],
  ];
}
