import type { FireBody, JobBody, PlanBody } from "@mainspring/contract";
import type { EpochMs } from "../../domain/ids.ts";
import type { CatchUp, RecurrenceRule } from "../../domain/recurrence.ts";
import type { PreviewedFire } from "../../domain/schedule/preview.ts";
import type { JobSummary, JobView } from "../../ports/store-queries.ts";
import { formatInstant, formatInstantOrNull } from "../http/instants.ts";

/** Form in which clients get recurring jobs and their plans. */

/** Next planned time; null: the job does not fire, or its plan has not followed an edit yet. */
export function plannedFireAt({
  state,
  version,
  plan,
}: Pick<JobSummary, "state" | "version" | "plan">): EpochMs | null {
  return state === "ACTIVE" && plan !== null && plan.version === version ? plan.nextFireAt : null;
}

export function planBody(job: JobView): PlanBody {
  return { jobId: job.jobId, state: job.state, nextFireAt: formatInstantOrNull(plannedFireAt(job)) };
}

export function fireBody({ at, local, note }: PreviewedFire): FireBody {
  return { at: formatInstant(at), local, ...(note !== null && { note }) };
}

/** Fields of a recurring job; none for a one-time job. */
export function recurrenceBody({ definition, plan }: JobView): Partial<JobBody> {
  const { recurrence } = definition;
  if (recurrence === null || plan === null) return {};
  return { ...ruleBody(recurrence), fires: plan.fired, catchUps: plan.catchUps.map(catchUpBody) };
}

function ruleBody(rule: RecurrenceRule): Partial<JobBody> {
  const { times, startAt, endAt, maxFires, spreadSec, overlap, misfire, maxCatchUp, startWithinMs } = rule;
  return {
    ...timesBody(times),
    ...(startAt !== null && { startAt: formatInstant(startAt) }),
    ...(endAt !== null && { endAt: formatInstant(endAt) }),
    ...(maxFires !== null && { maxFires }),
    ...{ spreadSec, overlap, misfire, misfireGraceSec: rule.misfireGraceMs / 1_000, maxCatchUp },
    ...(startWithinMs !== null && { startWithinSec: startWithinMs / 1_000 }),
  };
}

function timesBody(times: RecurrenceRule["times"]): Partial<JobBody> {
  if (times.type === "CRON") return { schedule: times.cron, timezone: times.timezone, dst: times.dst };
  return { everySec: times.everyMs / 1_000, everyMode: times.mode };
}

function catchUpBody({ id, trigger, nextAt, until, limit, open }: CatchUp) {
  return {
    ...{ id, trigger, nextAt: formatInstant(nextAt), until: formatInstant(until) },
    ...{ maxRunning: limit, running: open.length },
  };
}
