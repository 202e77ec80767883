import type { JobId } from "../../../domain/ids.ts";
import type { PlanCommand } from "../../../ports/store-commands.ts";
import type { OrderOutcome } from "../../../ports/store-jobs.ts";
import { insertCommand } from "../cluster/commands.ts";
import { PLAN_STATE_CODES } from "../connection/codes.ts";
import type { Session } from "../connection/connections.ts";
import { lockJob } from "../jobs/locked-job.ts";

/** An owner that read the plan before finds another revision. */
const END = `
  UPDATE plans p SET state = ${PLAN_STATE_CODES.DELETED}, revision = p.revision + 1, next_fire_at = NULL,
    buffered_at = NULL, catch_ups = NULL
  WHERE p.job_id = $1 AND p.state <> ${PLAN_STATE_CODES.DELETED}
    AND EXISTS (SELECT FROM jobs j WHERE j.id = $1 AND j.tenant = $2) RETURNING 1`;

/** Ends a job's plan, so that nothing fires any more. @returns whether anything might have fired */
export async function endPlan(session: Session, tenant: string, jobId: JobId): Promise<boolean> {
  return (await session.run({ name: "end_plan", text: END, values: [jobId, tenant] })).length > 0;
}

/** See StoreJobs.order; runs within a transaction. */
export async function order(session: Session, tenant: string, command: PlanCommand): Promise<OrderOutcome> {
  const job = await lockJob(session, tenant, command.jobId);
  if (job === null) return { kind: "NOT_FOUND" };
  if (job.definition.recurrence === null) return { kind: "NOT_RECURRING" };
  if (job.state === "DELETED" || job.state === "FINISHED") return { kind: "WRONG_STATE", state: job.state };
  await insertCommand(session, command);
  return { kind: "TAKEN" };
}
