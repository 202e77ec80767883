import type { JobDefinition, JobState } from "../../../domain/job.ts";
import type { JobSummary } from "../../../ports/store-queries.ts";
import { PLAN_STATE_CODES, QUEUE_CODES } from "../connection/codes.ts";
import type { Row } from "../connection/connections.ts";
import { existsOf, isFirst } from "../executions/of-job.ts";
import { PLAN_COLUMNS, PLAN_LENGTH, planFrom } from "../recurring/plan-rows.ts";
import { DEFINITION_COLUMNS, definitionFrom } from "./job-definitions.ts";

const OPEN = `e.queue <> ${QUEUE_CODES.NONE}`;
/**
 * Condition of an active one-time job: it has an execution that is not final. The condition names no single queue: with
 * equations of the queues, the planner could read all waiting rows for each job.
 */
export const IS_ACTIVE = existsOf("j.id", OPEN);
/** Condition of a one-time job whose first execution is not final. */
export const IS_FIRST_OPEN = isFirst("j.id", OPEN);

/** State of a job. The plan holds the state of a recurring job. */
const STATE = `CASE WHEN j.deleted_at IS NOT NULL THEN 'DELETED' WHEN p.job_id IS NULL THEN
  CASE WHEN ${IS_ACTIVE} THEN 'ACTIVE' ELSE 'FINISHED' END END`;

export const SUMMARY = `j.id, j.tenant, ${STATE}, j.version, j.created_at, j.updated_at, ${PLAN_COLUMNS}, ${DEFINITION_COLUMNS}`;
export const TABLES = "jobs j LEFT JOIN plans p ON p.job_id = j.id";

/** @param isActive condition for a one-time job `j`, instead of a lookup of its executions */
export function stateCondition(state: JobState, isActive: string = IS_ACTIVE): string {
  switch (state) {
    case "ACTIVE":
      return `j.deleted_at IS NULL AND CASE WHEN p.job_id IS NULL THEN ${isActive} ELSE p.state = ${PLAN_STATE_CODES.ACTIVE} END`;
    case "PAUSED":
      return `j.deleted_at IS NULL AND p.state = ${PLAN_STATE_CODES.PAUSED}`;
    case "FINISHED":
      return `j.deleted_at IS NULL AND
        CASE WHEN p.job_id IS NULL THEN NOT (${isActive}) ELSE p.state = ${PLAN_STATE_CODES.FINISHED} END`;
    case "DELETED":
      return "j.deleted_at IS NOT NULL";
  }
}

type SummaryRow = [
  jobId: string,
  tenant: string,
  state: JobState | null,
  version: number,
  createdAt: number,
  updatedAt: number,
  /** Version of the plan; null: a one-time job. */
  planVersion: number | null,
];
/** Number of columns before those of the plan. */
const SUMMARY_LENGTH = 6;

export function jobSummary(row: Row): JobSummary {
  const [jobId, tenant, known, version, createdAt, updatedAt, planVersion] = row as SummaryRow;
  const { name, pool, handler, priority, scheduledAt, labels, recurrence } = definitionOf(row);
  const plan = planVersion === null ? null : planFrom(row.slice(SUMMARY_LENGTH, SUMMARY_LENGTH + PLAN_LENGTH));
  const state = known ?? (plan?.state as JobState);
  const type = recurrence?.times.type ?? "ONCE";
  return {
    ...{ jobId, tenant, name, state, type, version, plan, pool, handler, priority, scheduledAt, labels },
    ...{ createdAt, updatedAt },
  };
}

export function definitionOf(row: Row): JobDefinition {
  return definitionFrom(row.slice(SUMMARY_LENGTH + PLAN_LENGTH));
}
