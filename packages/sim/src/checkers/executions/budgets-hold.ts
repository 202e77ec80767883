import type { AppliedChange, ExecutionRow } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";
import { isRun } from "../recurring/ledger.ts";

/**
 * Failures never exceed `maxAttempts`, losses never `maxLost`. Both equal a recount of the attempts, and an execution
 * is DEAD when a budget is used up, and not sooner.
 */
export function budgetsHold(): Checker {
  const spent = new Map<string, Spent>();
  return {
    name: "budgets hold",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const change of event.applied) {
        const { before, after } = change;
        if (after.jobVersion !== before.jobVersion) spent.set(after.id, spentBefore(change));
        recount(after, spent.get(after.id) ?? { failures: 0, lost: 0 });
        if (!isRun(after)) judge(after);
      }
    },
  };
}

/** Failures under the former definition, which do not count against the new one's budgets. */
interface Spent {
  failures: number;
  lost: number;
}

/**
 * In the commit that replaces the definition, attempts may end before and after the replacement, so the result is the
 * largest number that may still count.
 */
function spentBefore({ before, after }: AppliedChange): Spent {
  const all = ended(after.attempts);
  const then = ended(before.attempts);
  const spent = { failures: all.failures - after.failures, lost: all.lost - after.lost };
  if (spent.failures >= then.failures && spent.lost >= then.lost) return spent;
  throw new Violation(`${after.id} follows a new definition and has budgets used up by the one before`);
}

function ended(attempts: ExecutionRow["attempts"]): Spent {
  const failures = attempts.filter(({ state }) => state === "FAILED" || state === "TIMED_OUT").length;
  return { failures, lost: attempts.filter(({ state }) => state === "WORKER_LOST").length };
}

function recount({ id, failures, lost, attempts }: ExecutionRow, spent: Spent): void {
  const all = ended(attempts);
  const [failed, gone] = [all.failures - spent.failures, all.lost - spent.lost];
  if (failures !== failed) throw new Violation(`${id} says that it failed ${failures} times, and did ${failed} times`);
  if (lost !== gone) throw new Violation(`${id} says that it was lost ${lost} times, and was ${gone} times`);
}

function judge({ id, state, reason, failures, lost, job }: ExecutionRow): void {
  const { retry, maxLost, onWorkerLost } = job.definition.policy;
  if (failures > retry.maxAttempts) throw new Violation(`${id} failed ${failures} times`);
  if (lost > maxLost) throw new Violation(`${id} was lost ${lost} times`);
  const isUsedUp = failures >= retry.maxAttempts || lost >= maxLost;
  if (state === "PENDING" && isUsedUp) throw new Violation(`${id} is to be tried again and has no attempt left`);
  const isOtherwise =
    reason !== null && ["NOT_RETRYABLE", "RESULT_REFUSED", "LIFETIME_EXCEEDED", "REFERENCE_NOT_FOUND"].includes(reason);
  const isAsked = isOtherwise || (lost > 0 && onWorkerLost === "DEAD");
  if (state === "DEAD" && !isUsedUp && !isAsked) throw new Violation(`${id} is dead and had attempts left`);
}
