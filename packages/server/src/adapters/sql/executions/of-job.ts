import { TRIGGER_CODES } from "../connection/codes.ts";

/** SQL expression: bytes of the id that the first execution of a job has (domain/ids.ts), of an id of the job. */
const firstBytes = (jobId: string) => `set_byte(uuid_send(${jobId}), 10, get_byte(uuid_send(${jobId}), 10) # 128)`;

/**
 * SQL expression: id of the first execution of a job. A job has such an execution if it runs once and a node of feature
 * level 3 took it.
 * @param jobId SQL expression of type uuid
 */
function firstExecutionOf(jobId: string): string {
  return `encode(${firstBytes(jobId)}, 'hex')::uuid`;
}

/**
 * SQL condition: the id of the execution does not follow from its job's, so the index `executions_later` has the execution.
 * The words are those of the index; the planner uses the index for no other words. A query for the executions of a job
 * asks for its first one by id, and for the others with this condition.
 * @param e alias of the executions
 */
export function isLater(e: string): string {
  return `(${e}.trigger <> ${TRIGGER_CODES.API} OR uuid_send(${e}.id) <> ${firstBytes(`${e}.job_id`)})`;
}

/**
 * SQL query: executions of a job, each by the index that has it.
 * @param columns columns of the executions `e`
 * @param where further condition
 * @param jobId SQL expression of type uuid
 */
export function executionsOf(jobId: string, columns: string, where = "true"): string {
  return `SELECT ${columns} FROM executions e WHERE e.id = ${firstExecutionOf(jobId)} AND e.job_id = ${jobId} AND ${where}
    UNION ALL SELECT ${columns} FROM executions e WHERE e.job_id = ${jobId} AND ${isLater("e")} AND ${where}`;
}

/**
 * SQL condition: there is such an execution of a job. The form leaves the planner only the primary key and the index: with
 * EXISTS, it could read all executions.
 * @param where further condition for the executions `e`
 */
export function existsOf(jobId: string, where = "true"): string {
  const later = `SELECT true FROM executions e WHERE e.job_id = ${jobId} AND ${isLater("e")} AND ${where} LIMIT 1`;
  return `(${isFirst(jobId, where)} OR (${later}) IS NOT NULL)`;
}

/** SQL condition: the first execution of a job is such an execution. */
export function isFirst(jobId: string, where: string): string {
  const first = `SELECT true FROM executions e WHERE e.id = ${firstExecutionOf(jobId)} AND e.job_id = ${jobId} AND ${where}`;
  return `(${first}) IS NOT NULL`;
}
