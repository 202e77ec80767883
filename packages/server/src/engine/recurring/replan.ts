import type { EpochMs } from "../../domain/ids.ts";
import type { RecurrenceRule } from "../../domain/recurrence.ts";
import { nextFire, previousFire } from "../../domain/schedule/fires.ts";
import type { Schedule } from "../../domain/schedule/schedule.ts";
import type { FormerRule, PlanCommand } from "../../ports/store.ts";
import { accountPause } from "./changeovers.ts";
import { isFixedDelay, type PlanDraft } from "./draft.ts";
import { accountDue, accountPaused } from "./due.ts";

/**
 * Lets the draft go by the rule that made the plan, which the edits that are still to be obeyed remember. Where none does, the job is
 * planned anew at once.
 * @returns false: the budget ended before
 */
export function goByOwnRule(draft: PlanDraft, orders: readonly PlanCommand[]): boolean {
  const rule = ruleOfVersion(draft, draft.plan.version, orders);
  if (rule !== null) draft.goBy(rule);
  else if (!accountLast(draft)) return false;
  else planAnew(draft, draft.facts.version, Math.max(draft.now, draft.accountedUntil), draft.plan.nextFireAt);
  return true;
}

/**
 * Obeys an edit: what the former rule planned before is accounted for by it, what comes after is planned by the next.
 * @returns false: the budget ended before
 */
export function replaceRule(draft: PlanDraft, former: FormerRule, orders: readonly PlanCommand[]): boolean {
  const { plan, facts, now } = draft;
  if (former.version !== plan.version || plan.version === facts.version) return true;
  const until = Math.min(former.until, now + 1);
  if (!(plan.state === "PAUSED" ? accountPause(draft, until, accountPaused) : accountDue(draft, until))) return false;
  // Where the former rule has nothing that is due, all was accounted for up to now.
  const { nextFireAt } = plan;
  const from = nextFireAt === null || nextFireAt > now ? now : lastBefore(draft.schedule, until - 1, nextFireAt);
  const rule = ruleOfVersion(draft, former.version + 1, orders);
  const delayedTo = draft.isFixedDelay ? nextFireAt : null;
  draft.goBy(rule ?? facts.rule);
  planAnew(draft, rule === null ? facts.version : former.version + 1, from, delayedTo);
  return true;
}

/** The last instant before `next` that the schedule has, or `since` where none lies between. */
function lastBefore(schedule: Schedule, since: EpochMs, next: EpochMs): EpochMs {
  return isFixedDelay(schedule) ? since : Math.max(since, previousFire(schedule, next) ?? since);
}

function ruleOfVersion({ facts }: PlanDraft, version: number, orders: readonly PlanCommand[]): RecurrenceRule | null {
  if (version === facts.version) return facts.rule;
  const edits = orders.map(({ order }) => (order.kind === "LOOK" ? order.former : undefined));
  return edits.find((former) => former?.version === version)?.rule ?? null;
}

/** Accounts for the next instant of a plan whose rule is unknown, if that instant has passed. */
function accountLast(draft: PlanDraft): boolean {
  const { plan, rule, now } = draft;
  const at = plan.nextFireAt;
  if (at === null || at > now) return true;
  if (!draft.hasRoom()) return false;
  const isMisfired = at < now - rule.misfireGraceMs;
  if (plan.state === "PAUSED") draft.skip(at, "PAUSED");
  else if (isMisfired && rule.misfire === "SKIP") draft.skip(at, "MISFIRE");
  else draft.judge(at, isMisfired);
  plan.nextFireAt = null;
  return true;
}

/**
 * @param from all was accounted for up to then, by whatever rule
 * @param delayedTo what a fixed delay had planned from an end that has passed; null: nothing
 */
function planAnew(draft: PlanDraft, version: number, from: EpochMs, delayedTo: EpochMs | null): void {
  const { plan, schedule, facts } = draft;
  plan.version = version;
  plan.nextFireAt = null;
  if (draft.isFixedDelay && draft.isPreviousOpen) return;
  const next = nextFire(schedule, Math.max(from, facts.createdAt), plan.fired);
  const isKept = delayedTo !== null && mayStay(draft, delayedTo) && (next === null || delayedTo < next);
  plan.nextFireAt = isKept ? delayedTo : next;
}

/** The end that a fixed delay counts from has passed, and is not counted again from now: what it had planned stays where the rule allows it. */
function mayStay({ now, isFixedDelay, isUsedUp, schedule }: PlanDraft, at: EpochMs): boolean {
  const { startAt, endAt, shiftMs } = schedule;
  if (!isFixedDelay || isUsedUp || at <= now) return false;
  return (startAt === null || at - shiftMs >= startAt) && (endAt === null || at - shiftMs < endAt);
}
