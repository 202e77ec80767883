import type { EpochMs } from "../../domain/ids.ts";
import { type RecurrenceRule, scheduleOf } from "../../domain/recurrence.ts";
import { fireAfterEnd } from "../../domain/schedule/fires.ts";
import type { JobView } from "../../ports/store-queries.ts";
import type { TenantStore } from "../../security/tenant-stores.ts";

type AskedJob = Pick<JobView, "jobId" | "state" | "version" | "createdAt" | "plan">;

/**
 * First planned instant of a job without an outcome. A fixed delay plans its next instant when its execution has ended:
 * before that end nothing is planned up to `now`, and after it the instant follows from the end, even if the plan has
 * not followed yet.
 * @returns the instant; null: nothing more is planned, or the plan has not followed an edit yet
 * @throws {StoreUnavailable}
 */
export async function accountedUntil(
  job: AskedJob,
  rule: RecurrenceRule,
  now: EpochMs,
  queries: Pick<TenantStore["queries"], "getExecution">,
): Promise<EpochMs | null> {
  const { plan, jobId, createdAt } = job;
  if (plan === null || plan.nextFireAt !== null) return plan?.nextFireAt ?? null;
  if (!isDelayed(job, rule) || plan.previous === null) return null;
  const previous = await queries.getExecution(plan.previous);
  if (previous === null || previous.finishedAt === null) return now;
  return fireAfterEnd(scheduleOf(rule, jobId, createdAt), previous.finishedAt, plan.fired);
}

function isDelayed({ state, version, plan }: AskedJob, { times }: RecurrenceRule): boolean {
  const isGoingOn = state === "ACTIVE" || state === "PAUSED";
  return isGoingOn && plan?.version === version && times.type === "INTERVAL" && times.mode === "FIXED_DELAY";
}
