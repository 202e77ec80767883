import type { ExecutionId, JobId, ShardId } from "../../../domain/ids.ts";
import { shardKey, shardOf } from "../../../domain/ids.ts";
import type { JobDefinition, JobState } from "../../../domain/job.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import { planStateOf, QUEUE_CODES } from "../connection/codes.ts";
import type { Session } from "../connection/connections.ts";
import { executionsOf } from "../executions/of-job.ts";
import { DEFINITION_COLUMNS, definitionFrom } from "./job-definitions.ts";

/** A job whose row this transaction has locked, so that no other transaction changes it. */
export interface LockedJob {
  jobId: JobId;
  shard: ShardId;
  state: JobState;
  version: number;
  definition: JobDefinition;
  payload: Uint8Array | null;
  /**
   * Executions of the job that are not final. The lock does not delay executions that a recurring job's schedule
   * creates.
   */
  open: ExecutionId[];
  isWorkflow: boolean;
}

type Locked = [
  version: number,
  deletedAt: number | null,
  payload: Uint8Array | null,
  planState: number | null,
  isWorkflow: boolean,
];

/**
 * Locks the job. Every statement that inserts executions of an existing job locks the job's row too, so none is
 * overlooked.
 */
const LOCK = `
  SELECT j.version, j.deleted_at, j.payload, (SELECT p.state FROM plans p WHERE p.job_id = j.id),
    EXISTS (SELECT FROM workflow_graphs g WHERE g.job_id = j.id), ${DEFINITION_COLUMNS}
  FROM jobs j WHERE j.id = $1 AND j.tenant = $2 FOR UPDATE`;

const IS_OPEN = `e.queue <> ${QUEUE_CODES.NONE}`;
export const OPEN = executionsOf("$1::uuid", "e.id", IS_OPEN);

/**
 * The bound is redundant, but it leads the planner to the index that has only these rows, and not a million that ended
 * long ago.
 */
export const OPEN_OF_RECURRING = `SELECT e.id FROM executions e
  WHERE e.job_id = $1 AND ${IS_OPEN} AND e.job_id >= '80000000-0000-0000-0000-000000000000'`;

export async function lockJob(session: Session, tenant: string, jobId: JobId): Promise<LockedJob | null> {
  const [row] = await session.run({ name: "lock_job", text: LOCK, values: [jobId, tenant] });
  if (row === undefined) return null;
  const [version, deletedAt, payload, planState, isWorkflow] = row as Locked;
  const definition = definitionFrom(row.slice(5));
  const open = await openExecutions(session, jobId);
  const state = deletedAt !== null ? "DELETED" : planState !== null ? planStateOf(planState) : stateBy(open);
  const shard = shardOf(shardKey(tenant, definition.concurrencyKey, jobId));
  return { jobId, shard, state, version, definition, payload, open, isWorkflow };
}

async function openExecutions(session: Session, jobId: JobId): Promise<ExecutionId[]> {
  const [name, text] = isRecurringJobId(jobId) ? ["open_of_recurring", OPEN_OF_RECURRING] : ["open_executions", OPEN];
  return (await session.run({ name, text, values: [jobId] })).map(([id]) => id as ExecutionId).sort();
}

function stateBy(open: readonly ExecutionId[]): JobState {
  return open.length > 0 ? "ACTIVE" : "FINISHED";
}
