import type { EpochMs } from "../../domain/ids.ts";
import { occurrenceId } from "../../domain/occurrence-id.ts";
import type { Misfire, SkipReason } from "../../domain/recurrence.ts";
import { fireAfterEnd, occurrences } from "../../domain/schedule/fires.ts";
import type { PlanDraft } from "./draft.ts";

/** Executions of a catch-up that may be open at once if the job allows overlap. */
const CATCH_UP_LIMIT = 100;

/** Fires the buffered instant when the previous execution is final. */
export function fireBuffered(draft: PlanDraft): void {
  const { plan } = draft;
  const at = plan.bufferedAt;
  if (at === null || draft.isBusy || !draft.hasRoom()) return;
  plan.bufferedAt = null;
  draft.fireNext(at, false);
  if (draft.isFixedDelay) plan.nextFireAt = null;
}

/** Plans the next instant of a job with a fixed delay, counted from the end of the last execution. */
export function planFromEnd(draft: PlanDraft): void {
  const { plan } = draft;
  if (!draft.isFixedDelay || plan.nextFireAt !== null || draft.isPreviousOpen) return;
  plan.nextFireAt = fireAfterEnd(draft.schedule, draft.endedAt ?? draft.now, plan.fired);
}

/**
 * Accounts for every planned instant before `until`: instants that are too late follow the `misfire` rule, and the
 * others are handled in order, as if on time.
 * @param until at most one millisecond after now, so that nothing fires early
 * @returns false: the budget ended before; the caller continues later from the plan as it is then
 */
export function accountDue(draft: PlanDraft, until: EpochMs): boolean {
  const { plan, now } = draft;
  if (!accountMisfired(draft, Math.min(until, now - draft.rule.misfireGraceMs))) return false;
  while (plan.nextFireAt !== null && plan.nextFireAt < until) {
    if (!draft.hasRoom()) return false;
    const at = plan.nextFireAt;
    draft.budget.instants--;
    draft.judge(at, false);
    draft.planAfter(at);
  }
  return true;
}

/** Accounts for instants before `until`, all of which are too late. @returns false: as `accountDue` */
export function accountMisfired(draft: PlanDraft, until: EpochMs): boolean {
  const { misfire, maxCatchUp } = draft.rule;
  if (draft.isFixedDelay) return accountDelayed(draft, until, misfire === "SKIP" ? "MISFIRE" : null);
  const kept = { SKIP: 0, FIRE_ONCE: 1, FIRE_ALL: maxCatchUp } satisfies Record<Misfire, number>;
  const newest = skipAllBut(draft, until, kept[misfire], misfire === "FIRE_ALL" ? "MISFIRE_LIMIT" : "MISFIRE");
  if (newest === null) return false;
  const [first, last] = [newest[0], newest.at(-1)];
  if (first === undefined || last === undefined) return true;
  if (misfire === "FIRE_ONCE") draft.judge(first, true);
  else catchUp(draft, first, last);
  draft.planAfter(last);
  return true;
}

/** Accounts for instants before `until`, all of which lie within a pause. @returns false: as `accountDue` */
export function accountPaused(draft: PlanDraft, until: EpochMs): boolean {
  if (draft.isFixedDelay) return accountDelayed(draft, until, "PAUSED");
  return skipAllBut(draft, until, 0, "PAUSED") !== null;
}

/**
 * Accounts for the next instant of a job with a fixed delay, which plans only one instant ahead.
 * @param reason why the instant is skipped; null: it fires
 */
function accountDelayed(draft: PlanDraft, until: EpochMs, reason: SkipReason | null): boolean {
  const at = draft.plan.nextFireAt;
  if (at === null || at >= until) return true;
  if (!draft.hasRoom()) return false;
  if (reason === null) draft.judge(at, true);
  else draft.skip(at, reason);
  draft.planAfter(at);
  return true;
}

/**
 * Skips the instants planned before `until` except the newest `kept` ones, and plans the instant that follows the
 * skipped ones.
 * @returns the kept instants; null: there are more instants than the budget allows
 */
function skipAllBut(draft: PlanDraft, until: EpochMs, kept: number, reason: SkipReason): EpochMs[] | null {
  const { plan, budget } = draft;
  const first = plan.nextFireAt;
  if (first === null || first >= until) return [];
  if (!draft.hasRoom()) return null;
  // The planned instant counts even if the rule or the time zone data would give another one by now.
  const { instants, more } = occurrences(draft.schedule, first + 1, until, budget.instants + kept);
  instants.unshift(first);
  budget.instants -= instants.length;
  const skipped = Math.max(0, instants.length - kept);
  for (const at of instants.slice(0, skipped)) draft.skip(at, reason);
  const left = instants.slice(skipped);
  if (more && left[0] !== undefined) plan.nextFireAt = left[0];
  else if (left[0] === undefined) draft.planAfter(instants.at(-1) as EpochMs);
  draft.more ||= more;
  return more ? null : left;
}

function catchUp(draft: PlanDraft, first: EpochMs, last: EpochMs): void {
  const { rule, schedule, facts } = draft;
  draft.skips.interrupt();
  draft.putCatchUp({
    id: occurrenceId(facts.jobId, first, draft.now),
    trigger: "SCHEDULE",
    schedule,
    nextAt: first,
    until: last + 1,
    limit: rule.overlap === "ALLOW" ? CATCH_UP_LIMIT : 1,
    open: [],
  });
}
