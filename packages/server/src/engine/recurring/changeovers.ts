import { type Changeover, nextChangeover, readTzdataTag } from "../../domain/changeover.ts";
import type { EpochMs } from "../../domain/ids.ts";
import { movedFire } from "../../domain/schedule/moved.ts";
import { earlierThan } from "../../domain/schedule/planned.ts";
import type { PlanDraft } from "./draft.ts";
import { accountDue } from "./due.ts";

/**
 * Applies the changeovers that have come since the plan was made, one after the other: instants before a changeover
 * keep the rules that planned them, and later instants follow the new data. A paused plan whose next instant has passed
 * follows when the pause ends.
 * @returns false: the budget ended before
 */
export function followChangeovers(draft: PlanDraft): boolean {
  const { plan, now } = draft;
  for (let next = nextFor(draft); next !== null && plan.state !== "FINISHED"; next = nextFor(draft)) {
    const isWaiting = plan.state === "PAUSED" && plan.nextFireAt !== null && plan.nextFireAt < next.since;
    if (isWaiting) return true;
    if (plan.state === "ACTIVE" && !accountDue(draft, Math.min(next.since, now + 1))) return false;
    follow(draft, next);
  }
  return true;
}

/**
 * Accounts for instants within a pause, each by the rules that were in force then.
 * @param account as `accountPaused` does
 * @returns false: the budget ended before
 */
export function accountPause(draft: PlanDraft, until: EpochMs, account: (draft: PlanDraft, until: EpochMs) => boolean) {
  for (let next = nextFor(draft); next !== null && next.since < until; next = nextFor(draft)) {
    if (!account(draft, next.since)) return false;
    follow(draft, next);
  }
  return account(draft, until);
}

function nextFor({ changeovers, plan, now }: PlanDraft): Changeover | null {
  const next = nextChangeover(changeovers, plan.tzdata, now);
  return next === null || readTzdataTag(plan.tzdata).number === next.number ? null : next;
}

function follow(draft: PlanDraft, next: Changeover): void {
  const { plan } = draft;
  const { version: former, number } = readTzdataTag(plan.tzdata);
  const index = draft.changeovers.findIndex((one) => one.number === number);
  // Data versions from before the job's creation do not matter, because they planned nothing of the job.
  const earlier = earlierThan(draft.changeovers, index).filter(({ until }) => until > draft.facts.createdAt);
  const at = plan.nextFireAt;
  draft.goByData(next);
  if (at === null || draft.schedule.times.type !== "CRON") return;
  plan.nextFireAt = movedFire(draft.schedule, former, at, next.since, plan.fired, earlier);
  if (plan.nextFireAt !== at) draft.movedFrom ??= at;
}
