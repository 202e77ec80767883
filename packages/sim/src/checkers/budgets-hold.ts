import type { ExecutionRow } from "../store/execution-row.ts";
import { type Checker, Violation } from "./checker.ts";

/**
 * DESIGN 9.5 and 9.9: failures never exceed `maxAttempts`, losses never `maxLost`; both are what a recount of the
 * attempts gives, and an execution is dead of them when they are used up, no sooner.
 */
export function budgetsHold(): Checker {
  return {
    name: "budgets hold",
    saw(event) {
      if (event.kind !== "COMMITTED") return;
      for (const { after } of event.applied) {
        recount(after);
        judge(after);
      }
    },
  };
}

function recount({ id, failures, lost, attempts }: ExecutionRow): void {
  const failed = attempts.filter(({ state }) => state === "FAILED" || state === "TIMED_OUT").length;
  const gone = attempts.filter(({ state }) => state === "WORKER_LOST").length;
  if (failures !== failed) throw new Violation(`${id} says that it failed ${failures} times, and did ${failed} times`);
  if (lost !== gone) throw new Violation(`${id} says that it was lost ${lost} times, and was ${gone} times`);
}

function judge({ id, state, reason, failures, lost, job }: ExecutionRow): void {
  const { retry, maxLost, onWorkerLost } = job.definition.policy;
  if (failures > retry.maxAttempts) throw new Violation(`${id} failed ${failures} times`);
  if (lost > maxLost) throw new Violation(`${id} was lost ${lost} times`);
  const isUsedUp = failures >= retry.maxAttempts || lost >= maxLost;
  if (state === "PENDING" && isUsedUp) throw new Violation(`${id} is to be tried again and has no attempt left`);
  const isAsked = reason === "NOT_RETRYABLE" || reason === "RESULT_REFUSED" || (lost > 0 && onWorkerLost === "DEAD");
  if (state === "DEAD" && !isUsedUp && !isAsked) throw new Violation(`${id} is dead and had attempts left`);
}
