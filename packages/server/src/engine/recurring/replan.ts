import type { EpochMs } from "../../domain/ids.ts";
import type { RecurrenceRule } from "../../domain/recurrence.ts";
import { nextFire, previousFire } from "../../domain/schedule/fires.ts";
import type { Schedule } from "../../domain/schedule/schedule.ts";
import type { FormerRule, PlanCommand } from "../../ports/store-commands.ts";
import { accountPause } from "./changeovers.ts";
import { isFixedDelay, type PlanDraft } from "./draft.ts";
import { accountDue, accountPaused } from "./due.ts";

/**
 * Makes the draft use the rule that made the plan, which the edits that are not yet applied contain. If no edit
 * contains it, the job is replanned at once.
 * @returns false: the budget ended before
 */
export function planByOwnRule(draft: PlanDraft, commands: readonly PlanCommand[]): boolean {
  const rule = ruleOfVersion(draft, draft.plan.version, commands);
  if (rule !== null) draft.useRule(rule);
  else if (!accountLast(draft)) return false;
  else replan(draft, draft.facts.version, Math.max(draft.now, draft.accountedUntil), draft.plan.nextFireAt);
  return true;
}

/**
 * Applies an edit: the former rule accounts for the instants before the edit, and the next rule plans those after it.
 * @returns false: the budget ended before
 */
export function replaceRule(draft: PlanDraft, former: FormerRule, commands: readonly PlanCommand[]): boolean {
  const { plan, facts, now } = draft;
  if (former.version !== plan.version || plan.version === facts.version) return true;
  const until = Math.min(former.until, now + 1);
  if (!(plan.state === "PAUSED" ? accountPause(draft, until, accountPaused) : accountDue(draft, until))) return false;
  // If the former rule has no instant that is due, everything up to now is accounted for.
  const { nextFireAt } = plan;
  const from = nextFireAt === null || nextFireAt > now ? now : lastBefore(draft.schedule, until - 1, nextFireAt);
  const rule = ruleOfVersion(draft, former.version + 1, commands);
  const delayedTo = draft.isFixedDelay ? nextFireAt : null;
  draft.useRule(rule ?? facts.rule);
  replan(draft, rule === null ? facts.version : former.version + 1, from, delayedTo);
  return true;
}

/** The schedule's last instant before `next`, but at least `since`. */
function lastBefore(schedule: Schedule, since: EpochMs, next: EpochMs): EpochMs {
  return isFixedDelay(schedule) ? since : Math.max(since, previousFire(schedule, next) ?? since);
}

function ruleOfVersion({ facts }: PlanDraft, version: number, commands: readonly PlanCommand[]): RecurrenceRule | null {
  if (version === facts.version) return facts.rule;
  const edits = commands.map(({ order }) => (order.kind === "LOOK" ? order.former : undefined));
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
 * Plans the next instant by the present rule.
 * @param from time up to which all instants are accounted for, by any rule
 * @param delayedTo instant that a fixed delay had planned from the end of an execution; null: none
 */
function replan(draft: PlanDraft, version: number, from: EpochMs, delayedTo: EpochMs | null): void {
  const { plan, schedule, facts } = draft;
  plan.version = version;
  plan.nextFireAt = null;
  if (draft.isFixedDelay && draft.isPreviousOpen) return;
  const next = nextFire(schedule, Math.max(from, facts.createdAt), plan.fired);
  const isKept = delayedTo !== null && mayStay(draft, delayedTo) && (next === null || delayedTo < next);
  plan.nextFireAt = isKept ? delayedTo : next;
}

/**
 * Whether the planned instant of a fixed delay stays. The execution from whose end it was counted has ended, and the
 * delay is not counted again from now, so the instant stays if the new rule allows it.
 */
function mayStay({ now, isFixedDelay, isUsedUp, schedule }: PlanDraft, at: EpochMs): boolean {
  const { startAt, endAt, shiftMs } = schedule;
  if (!isFixedDelay || isUsedUp || at <= now) return false;
  return (startAt === null || at - shiftMs >= startAt) && (endAt === null || at - shiftMs < endAt);
}
