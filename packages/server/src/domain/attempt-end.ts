import type { AttemptState, FinalState } from "./execution.ts";
import type { EpochMs } from "./ids.ts";
import type { ExecutionPolicy } from "./job.ts";
import { LIFETIME_EXCEEDED } from "./lifetime.ts";
import { backoffMs, type RetryAdvice } from "./retry.ts";
import type { Suspension } from "./step.ts";

/** Budgets that an execution has spent. */
export interface Budget {
  failures: number;
  lost: number;
}

export interface AttemptEnd {
  state: AttemptState;
  advice: RetryAdvice;
  /** Whether the execution's cancellation was requested. */
  cancelRequested: boolean;
  /** End of the execution's lifetime. */
  lifetimeEndsAt: EpochMs;
  /** Waits of a SUSPENDED attempt; left out otherwise. */
  suspension?: Suspension;
}

/** Next state of the execution. PENDING with `dueAt` null: the execution is ready again at its former rank. */
export type Next =
  | { state: FinalState; reason: string | null }
  | { state: "PENDING"; dueAt: EpochMs | null; reason: string | null };

/**
 * Computes the next state of an execution after the end of an attempt.
 * @param random evenly distributed in [0, 1), for the jitter of a backoff
 */
export function afterAttempt(
  spent: Budget,
  end: AttemptEnd,
  policy: ExecutionPolicy,
  now: EpochMs,
  random: number,
): Budget & { next: Next } {
  const failed = end.state === "FAILED" || end.state === "TIMED_OUT";
  const failures = spent.failures + (failed ? 1 : 0);
  const lost = spent.lost + (end.state === "WORKER_LOST" ? 1 : 0);
  return { failures, lost, next: nextState({ failures, lost }, end, policy, now, random) };
}

function nextState(spent: Budget, end: AttemptEnd, policy: ExecutionPolicy, now: EpochMs, random: number): Next {
  // A handler that succeeded although it was asked to stop counts as a success, because its work was done.
  if (end.state === "SUCCEEDED") return { state: "SUCCEEDED", reason: null };
  if (end.cancelRequested || end.state === "CANCELLED") return { state: "CANCELLED", reason: null };
  const next = withinBudgets(spent, end, policy, now, random);
  return next.state === "PENDING" ? withinLifetime(next, end, now) : next;
}

function withinBudgets(spent: Budget, end: AttemptEnd, policy: ExecutionPolicy, now: EpochMs, random: number): Next {
  if (end.state === "RELEASED") return { state: "PENDING", dueAt: null, reason: null };
  if (end.state === "SUSPENDED") return afterSuspension(end, now);
  if (end.state === "WORKER_LOST") return afterLoss(spent, policy);
  return afterFailure(spent, end, policy, now, random);
}

/**
 * Bounds the wait for the next attempt by the end of the lifetime. A suspension that would last longer is cut off there,
 * because a signal may end it earlier. A retry that would come too late never comes.
 */
function withinLifetime(next: Extract<Next, { state: "PENDING" }>, end: AttemptEnd, now: EpochMs): Next {
  const { state, lifetimeEndsAt } = end;
  if ((next.dueAt ?? now) < lifetimeEndsAt) return next;
  if (state === "SUSPENDED" && now < lifetimeEndsAt) return { ...next, dueAt: lifetimeEndsAt };
  return { state: "DEAD", reason: LIFETIME_EXCEEDED };
}

function afterSuspension({ suspension }: AttemptEnd, now: EpochMs): Next {
  const { until = now, awaitsSignal = false } = suspension ?? {};
  if (until <= now) return { state: "PENDING", dueAt: now, reason: null };
  return { state: "PENDING", dueAt: until, reason: awaitsSignal ? "AWAITS_SIGNAL" : "SLEEPING" };
}

function afterLoss(spent: Budget, policy: ExecutionPolicy): Next {
  if (policy.onWorkerLost === "DEAD" || spent.lost >= policy.maxLost) return { state: "DEAD", reason: "WORKER_LOST" };
  return { state: "PENDING", dueAt: null, reason: "WORKER_LOST" };
}

function afterFailure(spent: Budget, end: AttemptEnd, policy: ExecutionPolicy, now: EpochMs, random: number): Next {
  if (end.advice?.kind === "NEVER") return { state: "DEAD", reason: "NOT_RETRYABLE" };
  if (end.state === "TIMED_OUT" && now >= end.lifetimeEndsAt) return { state: "DEAD", reason: LIFETIME_EXCEEDED };
  if (spent.failures >= policy.retry.maxAttempts) return { state: "DEAD", reason: "ATTEMPTS_USED_UP" };
  const at = end.advice?.kind === "AT" ? end.advice.at : now + backoffMs(policy.retry, spent.failures, random);
  return { state: "PENDING", dueAt: Math.max(at, now), reason: "BACKOFF" };
}
