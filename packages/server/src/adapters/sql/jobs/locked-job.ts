import type { ExecutionId, JobId, ShardId } from "../../../domain/ids.ts";
import { shardKey, shardOf } from "../../../domain/ids.ts";
import type { JobDefinition, JobState } from "../../../domain/job.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import { planStateOf, QUEUE_CODES } from "../connection/codes.ts";
import type { Session } from "../connection/connections.ts";
import { DEFINITION_COLUMNS, definitionFrom } from "./job-definitions.ts";

/** A job that nobody else changes until the transaction ends. */
export interface LockedJob {
  jobId: JobId;
  shard: ShardId;
  state: JobState;
  version: number;
  definition: JobDefinition;
  payload: Uint8Array | null;
  /**
   * Its executions that are not final. The lock does not delay executions of a recurring job that its schedule creates.
   */
  open: ExecutionId[];
}

/** Every statement that inserts executions of an existing job locks the job's row as well, so none is overlooked. */
const LOCK = `
  SELECT j.version, j.deleted_at, j.payload, (SELECT p.state FROM plans p WHERE p.job_id = j.id), ${DEFINITION_COLUMNS}
  FROM jobs j WHERE j.id = $1 AND j.tenant = $2 FOR UPDATE`;

const OPEN = `SELECT id FROM executions e WHERE e.job_id = $1 AND e.queue <> ${QUEUE_CODES.NONE}`;

/** The bound says nothing new, but it tells of the index that has those alone, and not a million that ended long ago. */
export const OPEN_OF_RECURRING = `${OPEN} AND e.job_id >= '80000000-0000-0000-0000-000000000000'`;

export async function lockJob(session: Session, tenant: string, jobId: JobId): Promise<LockedJob | null> {
  const [row] = await session.run({ name: "lock_job", text: LOCK, values: [jobId, tenant] });
  if (row === undefined) return null;
  const [version, deletedAt, payload, planState] = row as [number, number | null, Uint8Array | null, number | null];
  const definition = definitionFrom(row.slice(4));
  const open = await openExecutions(session, jobId);
  const state = deletedAt !== null ? "DELETED" : planState !== null ? planStateOf(planState) : stateBy(open);
  const shard = shardOf(shardKey(tenant, definition.concurrencyKey, jobId));
  return { jobId, shard, state, version, definition, payload, open };
}

async function openExecutions(session: Session, jobId: JobId): Promise<ExecutionId[]> {
  const [name, text] = isRecurringJobId(jobId) ? ["open_of_recurring", OPEN_OF_RECURRING] : ["open_executions", OPEN];
  return (await session.run({ name, text, values: [jobId] })).map(([id]) => id as ExecutionId).sort();
}

function stateBy(open: readonly ExecutionId[]): JobState {
  return open.length > 0 ? "ACTIVE" : "FINISHED";
}
