import type { Changeover } from "../../domain/changeover.ts";
import { isFinal } from "../../domain/execution.ts";
import type { EpochMs } from "../../domain/ids.ts";
import { type Plan, type RecurrenceRule, scheduleOf } from "../../domain/recurrence.ts";
import { plannedInstants } from "../../domain/schedule/planned.ts";
import type { Schedule } from "../../domain/schedule/schedule.ts";
import type { ExecutionSummary, JobView, LedgerItem } from "../../ports/store-queries.ts";
import { fellDueAt } from "../views.ts";

/** One planned instant, or with a count several in a row; from `from` to `to`, both included. */
export interface Account {
  from: EpochMs;
  to: EpochMs;
  count: number;
  outcome: "RAN" | "WAITING" | "SKIPPED" | "MISSED";
  reason: string | null;
  execution: ExecutionSummary | null;
  isLate: boolean;
}

/** A range of a ledger, [since, until), with all its entries. */
interface Stretch {
  since: EpochMs;
  until: EpochMs;
  /** Entries, the newest first. */
  items: readonly LedgerItem[];
  /**
   * Ranges of skipped instants from other pages: the ledger lists such a range where it begins, which may be on a later
   * page.
   */
  ranges: readonly Range[];
}

/** A range of instants, both ends included. */
export interface Range {
  from: EpochMs;
  to: EpochMs;
}

/** Largest number of consecutive MISSED instants that are counted; more appear as this many. */
const MISSED_MAX = 1_000;
const DAY_MS = 86_400_000;

/**
 * The job's planned instants of a range with their outcomes, the newest first; instants without any trace are included.
 */
export function accountsOf(
  job: JobView,
  rule: RecurrenceRule,
  stretch: Stretch,
  now: EpochMs,
  known: KnownPast,
): Account[] {
  const accounts = stretch.items.map((item) => accountOf(item, rule, now));
  const range = judged(job, stretch, now, known);
  if (range === null) return accounts;
  const planned = {
    schedule: scheduleOf(rule, job.jobId, job.createdAt),
    plan: job.plan,
    changeovers: known.changeovers,
    ranges: [...accounts, ...stretch.ranges],
  };
  const all: Account[] = [];
  let until = range.until;
  for (const account of accounts) {
    all.push(...traceless(planned, Math.max(account.to + 1, range.since), until), account);
    until = Math.min(until, account.from);
  }
  return [...all, ...traceless(planned, range.since, until)];
}

/** Ranges of skipped instants, from the entries of a ledger. */
export function rangesOf(items: readonly LedgerItem[]): Range[] {
  return items.flatMap((item) => ("skipped" in item ? { from: item.plannedAt, to: item.skipped.until } : []));
}

/** Facts about the past that apply to all jobs. */
export interface KnownPast {
  /** Retention of final executions, in days. */
  keptDays: number;
  /** Changeovers of the time zone data, in order. */
  changeovers: readonly Changeover[];
}

/**
 * Time from which the ledger can report MISSED. Before the last edit, the plan is unknown; before the first changeover
 * of time zone data, the rules are unknown; and for instants older than the retention, or beyond a bound of the store, there may be no
 * trace. null:
 * never, because the plan has not followed the last edit yet.
 */
export function missedSince(
  { version, plan, updatedAt, historySince = 0 }: Pick<JobView, "version" | "plan" | "updatedAt" | "historySince">,
  now: EpochMs,
  { keptDays, changeovers }: KnownPast,
): EpochMs | null {
  if (plan?.version !== version) return null;
  return Math.max(updatedAt + 1, now - keptDays * DAY_MS, historySince, changeovers[0]?.since ?? 0);
}

function judged(
  job: JobView,
  stretch: Stretch,
  now: EpochMs,
  known: KnownPast,
): { since: EpochMs; until: EpochMs } | null {
  const since = missedSince(job, now, known);
  if (since === null) return null;
  const { nextFireAt = null } = job.plan ?? {};
  // If nothing more is planned, the newest entry is the last one that was planned.
  const end = nextFireAt ?? stretch.items[0]?.plannedAt ?? stretch.since;
  return { since: Math.max(stretch.since, since), until: Math.min(stretch.until, end) };
}

interface Known {
  schedule: Schedule;
  plan: Plan | null;
  changeovers: readonly Changeover[];
  ranges: readonly Range[];
}

/** Planned instants between two entries of the ledger. They are MISSED, unless the plan has yet to fire them. */
function traceless({ schedule, plan, changeovers, ranges }: Known, since: EpochMs, until: EpochMs): Account[] {
  if (since >= until) return [];
  const accounts: Account[] = [];
  for (const at of plannedInstants(schedule, changeovers, since, until, MISSED_MAX).instants) {
    if (ranges.some(({ from, to }) => from <= at && at <= to)) continue;
    const outcome = isAhead(plan, at) ? "WAITING" : "MISSED";
    const last = accounts.at(-1);
    if (last?.outcome === outcome) Object.assign(last, { to: at, count: last.count + 1 });
    else accounts.push({ from: at, to: at, count: 1, outcome, reason: null, execution: null, isLate: false });
  }
  return accounts.reverse();
}

/** Whether an instant is still to come: it waits for the previous execution, or a catch-up will run it. */
export function isAhead(plan: Plan | null, at: EpochMs): boolean {
  if (plan === null) return false;
  return plan.bufferedAt === at || plan.catchUps.some(({ nextAt, until }) => at >= nextAt && at < until);
}

function accountOf(item: LedgerItem, rule: RecurrenceRule, now: EpochMs): Account {
  const at = item.plannedAt;
  if ("skipped" in item) {
    const { until: to, count, reason } = item.skipped;
    return { from: at, to, count, outcome: "SKIPPED", reason, execution: null, isLate: false };
  }
  const { execution } = item;
  const { startedAt, state } = execution;
  const lateMs = (startedAt ?? now) - fellDueAt(execution);
  const outcome = outcomeOf(execution);
  const isLate = outcome !== "SKIPPED" && lateMs > rule.misfireGraceMs;
  const reason = outcome === "SKIPPED" ? (execution.reason ?? state) : null;
  return { from: at, to: at, count: 1, outcome, reason, execution, isLate };
}

function outcomeOf({ state, startedAt }: ExecutionSummary): "RAN" | "WAITING" | "SKIPPED" {
  if (startedAt !== null || state === "SUCCEEDED" || state === "RUNNING") return "RAN";
  return isFinal(state) ? "SKIPPED" : "WAITING";
}
