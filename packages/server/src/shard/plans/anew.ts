import { nextFire } from "../../domain/schedule/fires.ts";
import type { PlanDraft } from "./draft.ts";

/**
 * The job was edited: what is still to come is planned by the definition that it has now. Of what the former one planned the next instant
 * is known, and is accounted for if it has passed.
 */
export function planAnew(draft: PlanDraft): void {
  const { plan, facts } = draft;
  const planned = plan.nextFireAt;
  const isDue = planned !== null && planned <= draft.now;
  if (isDue && !draft.hasRoom()) return;
  if (isDue) accountLast(draft, planned);
  plan.version = facts.version;
  plan.nextFireAt = null;
  plan.tzdata = draft.tzdata;
  if (draft.isFixedDelay && draft.isPreviousOpen) return;
  const next = nextFire(facts.schedule, draft.accountedUntil, plan.fired);
  // The end that a fixed delay counts from has passed: it is not counted again from now.
  plan.nextFireAt = draft.isFixedDelay && next !== null && !isDue ? Math.min(next, planned ?? next) : next;
}

function accountLast(draft: PlanDraft, at: number): void {
  const { rule } = draft.facts;
  const isMisfired = at < draft.now - rule.misfireGraceMs;
  if (draft.plan.state === "PAUSED") draft.skip(at, "PAUSED");
  else if (isMisfired && rule.misfire === "SKIP") draft.skip(at, "MISFIRE");
  else draft.judge(at, isMisfired);
}

/** The zones have changed since the plan was made: what is still to come is worked out again. */
export function planByNewerZones(draft: PlanDraft): void {
  const { plan, facts, now } = draft;
  // Whoever knows less than the plan leaves it alone.
  if (plan.tzdata >= draft.tzdata) return;
  plan.tzdata = draft.tzdata;
  if (facts.schedule.times.type !== "CRON" || plan.nextFireAt === null || plan.nextFireAt <= now) return;
  const before = plan.nextFireAt;
  plan.nextFireAt = nextFire(facts.schedule, draft.accountedUntil, plan.fired);
  if (plan.nextFireAt !== before) draft.movedFrom = before;
}
