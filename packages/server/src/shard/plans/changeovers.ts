import { type Changeover, nextChangeover, readTzdataTag } from "../../domain/changeover.ts";
import { movedFire } from "../../domain/schedule/moved.ts";
import { earlierThan } from "../../domain/schedule/planned.ts";
import type { PlanDraft } from "./draft.ts";
import { accountDue } from "./due.ts";

/**
 * Lets a plan follow the changeovers that have come since it was made, one after the other: what was planned before one keeps the rules that
 * it was planned by, and what is to come goes by the next.
 * @returns false: the budget ended before
 */
export function followChangeovers(draft: PlanDraft): boolean {
  const { plan, now } = draft;
  for (;;) {
    const next = nextChangeover(draft.changeovers, plan.tzdata, now);
    if (next === null || plan.state === "FINISHED") return true;
    if (readTzdataTag(plan.tzdata).number === next.number) return true;
    if (plan.state === "ACTIVE" && !accountDue(draft, Math.min(next.since, now + 1))) return false;
    follow(draft, next);
  }
}

function follow(draft: PlanDraft, next: Changeover): void {
  const { plan } = draft;
  const { version: former, number } = readTzdataTag(plan.tzdata);
  const earlier = earlierThan(
    draft.changeovers,
    draft.changeovers.findIndex((one) => one.number === number),
  );
  const at = plan.nextFireAt;
  draft.goByData(next);
  if (at === null || draft.schedule.times.type !== "CRON") return;
  // In a pause what has passed waits for its end, as it was planned.
  if (plan.state === "PAUSED" && at <= next.since) return;
  plan.nextFireAt = movedFire(draft.schedule, former, at, next.since, plan.fired, earlier);
  if (plan.nextFireAt !== at) draft.movedFrom ??= at;
}
