import { SUB_WORKFLOW_LEVELS_MAX } from "@mainspring/contract/limits";
import { RUN_NODE } from "../../../domain/execution.ts";
import type { EpochMs } from "../../../domain/ids.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Session } from "../connection/connections.ts";
import { FIRST_ID, FIRST_RECURRING_ID, LAST_ID } from "../executions/list-walk.ts";
import { isLater } from "../executions/of-job.ts";
import { uuidFloor } from "../schema/partitions.ts";
import { isRun } from "./kinds-of-rows.ts";

/** Retention of workflows: the executions of nodes are kept for as long as their run, and graphs for as long as their job. */

/** SQL query: runs from which open runs keep nodes, and so need the results. */
const NEEDED = `SELECT unnest(w.bases) FROM workflow_runs w, executions o
  WHERE w.retry_of IS NOT NULL AND o.id = w.run AND o.queue <> ${QUEUE_CODES.NONE}`;

/**
 * SQL condition for a row `r`: retention need not keep the row. The execution of a node counts as its run does, and a
 * run from which an open run keeps nodes stays.
 * @param isPast SQL condition for the row of an alias: it is final and ended long enough ago
 */
export function isOver(isPast: (alias: string) => string): string {
  const isRunOver = (alias: string) => `(${isPast(alias)} AND ${alias}.id <> ALL (ARRAY(${NEEDED})))`;
  return `CASE WHEN r.node >= 0 THEN coalesce(${ofOutermost("r", isRunOver)}, ${isPast("r")})
    WHEN r.node = ${RUN_NODE} THEN ${isRunOver("r")} ELSE ${isPast("r")} END`;
}

/**
 * SQL expression: a condition for the outermost run of a node. The run of a node may be that of a sub-workflow.
 * @param node alias of the execution of the node
 */
function ofOutermost(node: string, condition: (alias: string) => string, level = 0): string {
  const run = `o${level}`;
  const isOuter = level >= SUB_WORKFLOW_LEVELS_MAX;
  const value = isOuter
    ? condition(run)
    : `CASE WHEN ${run}.node >= 0 THEN ${ofOutermost(run, condition, level + 1)} ELSE ${condition(run)} END`;
  return `(SELECT ${value} FROM executions ${run} WHERE ${run}.id = ${node}.job_id)`;
}

/** SQL condition for a row `r`: it is no run that has executions of nodes. A run goes last, because it decides about its nodes. */
export const HAS_NO_NODES = `CASE WHEN ${isRun("r")} THEN
  (SELECT true FROM executions n WHERE n.job_id = r.id AND ${isLater("n")} LIMIT 1) IS NULL ELSE true END`;

/** Numbers of runs, and of workflows with all their payloads, in one delete. */
const RUNS = 1_000;
const WORKFLOWS = 50;

/** The arrays, unlike joins, have the planner find the rows by their keys. */
const FORGET_RUNS = `
  WITH page AS MATERIALIZED (
    SELECT run AS id FROM workflow_runs WHERE run > $1 AND run < $2 ORDER BY run LIMIT ${RUNS}
  ), gone AS (
    DELETE FROM workflow_runs w USING page p WHERE w.run = p.id AND NOT EXISTS (SELECT FROM executions e WHERE e.id = w.run)
    RETURNING w.run
  ), parted AS (
    DELETE FROM workflow_parts w WHERE w.run = ANY(ARRAY(SELECT run FROM gone))
  ), emptied AS (
    DELETE FROM workflow_part_payloads w WHERE w.run = ANY(ARRAY(SELECT run FROM gone))
  )
  SELECT id FROM page ORDER BY id DESC LIMIT 1`;

const FORGET_GRAPHS = `
  WITH page AS MATERIALIZED (
    SELECT job_id AS id FROM workflow_graphs WHERE job_id > $1 AND job_id < $2 ORDER BY job_id LIMIT ${WORKFLOWS}
  ), gone AS (
    DELETE FROM workflow_graphs g USING page p WHERE g.job_id = p.id AND NOT EXISTS (SELECT FROM jobs j WHERE j.id = coalesce(g.of_job, g.job_id))
    RETURNING g.job_id
  ), emptied AS (
    DELETE FROM workflow_payloads w WHERE w.job_id = ANY(ARRAY(SELECT job_id FROM gone))
  )
  SELECT id FROM page ORDER BY id DESC LIMIT 1`;

/**
 * Deletes what belongs to runs and workflows that are gone. Comes after their executions and jobs.
 * @param keepFrom runs and workflows of one run from this instant on are not examined
 */
export async function retireRuns(session: Session, keepFrom: EpochMs): Promise<void> {
  await walk(session, FORGET_RUNS, FIRST_ID, uuidFloor(keepFrom));
  await walk(session, FORGET_GRAPHS, FIRST_ID, uuidFloor(keepFrom));
  await walk(session, FORGET_GRAPHS, FIRST_RECURRING_ID, LAST_ID);
}

/** Runs a statement page by page, so that no page examines the remaining rows again. */
async function walk(session: Session, text: string, from: string, until: string): Promise<void> {
  for (let after = from; ; ) {
    const [last] = await session.run({ text, values: [after, until] });
    if (last === undefined) return;
    after = last[0] as string;
  }
}
