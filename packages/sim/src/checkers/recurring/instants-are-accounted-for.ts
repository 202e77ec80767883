import type { StoreEvent } from "@mainspring/server/testing";
import { spreadShiftMs } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";
import { type ChangingRules, type Expected, expectedInstants } from "./changing-rules.ts";
import { plannedInstants } from "./oracle.ts";
import type { BookedVersion, PlanBook, PlanBooks } from "./plan-books.ts";

/**
 * Each planned instant of a recurring job runs once or is skipped with its reason, and none before its time. An oracle
 * that shares no code with the product computes the planned instants.
 * @param rules versions of the time zone data; null: there is only one
 */
export function instantsAreAccountedFor(books: PlanBooks, rules: ChangingRules | null): Checker {
  const accounted = new Map<string, Set<number>>();
  const made = new Map<string, Set<number>>();
  const once = (of: Map<string, Set<number>>, jobId: string, instant: number, how: string) => {
    const known = of.get(jobId) ?? new Set();
    of.set(jobId, known);
    if (known.has(instant)) throw new Violation(`${iso(instant)} of ${jobId} is accounted for twice, now ${how}`);
    known.add(instant);
  };
  const committed = ({ planned, born, at }: Extract<StoreEvent, { kind: "COMMITTED" }>) => {
    for (const { after, skips } of planned) {
      for (const { from, to, count, reason } of skips) {
        if (to > at) throw new Violation(`${iso(to)} of ${after.jobId} was skipped before its time`);
        if (to < from || (count === 1) !== (from === to)) throw new Violation(`${count} skipped from ${from} to ${to}`);
        for (const instant of new Set([from, to])) once(accounted, after.jobId, instant, `skipped: ${reason}`);
      }
    }
    for (const { id, job, trigger } of born) {
      const { scheduledAt } = job.definition;
      if (scheduledAt > at) throw new Violation(`${id} fired ${scheduledAt - at} ms before its time`);
      if (trigger === "SCHEDULE") once(accounted, job.jobId, scheduledAt, "fired");
      once(made, job.jobId, scheduledAt, `executed by ${trigger}`);
    }
  };
  return {
    name: "instants are accounted for",
    saw(event) {
      if (event.kind === "COMMITTED" && event.outcome.status === "APPLIED") committed(event);
    },
    atEnd() {
      for (const book of books.all.values()) {
        if (book.plan === null) continue;
        if (book.plan.state === "ACTIVE" && book.deletedAt === null)
          throw new Violation(`${book.jobId} came to no end: ${JSON.stringify(book.plan)}`);
        nothingIsMissing(book, rules);
        nothingIsInvented(book, rules);
      }
    },
  };
}

/** Every instant that was planned by the only version in force has an outcome. */
function nothingIsMissing(book: PlanBook, rules: ChangingRules | null): void {
  const fired = new Set(book.created.map(({ job }) => job.definition.scheduledAt));
  const isSkipped = (at: number) => book.skips.some(({ from, to }) => from <= at && at <= to);
  for (const version of book.versions) {
    if (version.followedAt === null || isFixedDelay(version)) continue;
    const until = Math.min(version.replacedAt ?? Number.POSITIVE_INFINITY, endOf(book, version));
    for (const at of instantsOf(book, version, version.followedAt + 1, until, rules).must) {
      if (!fired.has(at) && !isSkipped(at) && !stillWaits(book, at)) {
        throw new Violation(`${iso(at)} of ${book.jobId} (version ${version.version}) neither ran nor was skipped`);
      }
    }
  }
}

/**
 * Whether an instant may still be waiting. A deletion ends instants that wait for an execution or a catch-up; a pause
 * holds them back.
 */
function stillWaits({ plan, deletedAt }: PlanBook, at: number): boolean {
  if (plan === null || (deletedAt === null && plan.state !== "PAUSED")) return false;
  return plan.bufferedAt === at || plan.catchUps.some(({ nextAt, until }) => nextAt <= at && at < until);
}

/** Time until which the version had to account for its instants. */
function endOf({ plan, deletedAt, created }: PlanBook, { rule }: BookedVersion): number {
  const unaccounted = plan?.nextFireAt ?? Number.POSITIVE_INFINITY;
  const last = rule.maxFires === null ? undefined : created[rule.maxFires - 1];
  const usedUp = last === undefined ? Number.POSITIVE_INFINITY : last.job.definition.scheduledAt;
  return Math.min(unaccounted, deletedAt ?? Number.POSITIVE_INFINITY, usedUp);
}

/** No execution runs at an instant that no version planned while in force. */
function nothingIsInvented(book: PlanBook, rules: ChangingRules | null): void {
  const planned = new Set<number>();
  book.versions.forEach((version, index) => {
    const next = book.versions[index + 1];
    const until = next === undefined ? Number.POSITIVE_INFINITY : (next.followedAt ?? Number.POSITIVE_INFINITY);
    if (isFixedDelay(version)) return;
    for (const from of new Set([version.writtenAt, (version.followedAt ?? until) + 1])) {
      const { must, may } = instantsOf(book, version, from, until + 1, rules);
      for (const at of [...must, ...may]) planned.add(at);
    }
  });
  if (book.versions.some(isFixedDelay)) return;
  for (const { id, job } of book.created) {
    const at = job.definition.scheduledAt;
    if (!planned.has(at)) throw new Violation(`${id} of ${book.jobId} fired at ${iso(at)}, which nobody planned`);
  }
  for (const { from, to, reason } of book.skips) {
    if (!planned.has(from) || !planned.has(to)) {
      throw new Violation(`${iso(from)} to ${iso(to)} of ${book.jobId} was skipped (${reason}), and nobody planned it`);
    }
  }
}

function instantsOf(
  { jobId, createdAt, finishedAt }: PlanBook,
  { rule, version }: BookedVersion,
  from: number,
  until: number,
  rules: ChangingRules | null,
): Expected {
  const shiftMs = spreadShiftMs(jobId, rule.spreadSec);
  if (rules !== null && rule.times.type === "CRON") {
    // Later rules do not restart a job that has ended.
    const changeovers = rules.changeovers().filter(({ since }) => since <= (finishedAt ?? since));
    return expectedInstants(rule, shiftMs, { ...rules, changeovers: () => changeovers }, from, until, version > 1);
  }
  return { must: plannedInstants(rule, rule.startAt ?? createdAt, shiftMs, from, until), may: new Set() };
}

function isFixedDelay({ rule }: BookedVersion): boolean {
  return rule.times.type === "INTERVAL" && rule.times.mode === "FIXED_DELAY";
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
