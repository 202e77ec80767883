import { DEFAULT_LIFETIME_MS } from "@mainspring/contract/limits";
import type { Candidate, ExecutionError } from "./execution.ts";
import type { EpochMs } from "./ids.ts";
import type { ExecutionPolicy } from "./job.ts";

/** Bound on the whole life of an execution: its attempts, suspensions, backoffs and the time that it waits for workers. */

/** Reason of an execution that is DEAD because its lifetime has ended. */
export const LIFETIME_EXCEEDED = "LIFETIME_EXCEEDED";

type Living = Pick<Candidate, "scheduledAt" | "backfilledAt" | "policy">;

/**
 * End of the execution's lifetime, from which on no attempt starts or goes on. The lifetime counts from the time at which
 * the execution was first due, or from its creation if a backfill created it later.
 */
export function lifetimeEnd({ scheduledAt, backfilledAt = scheduledAt, policy }: Living): EpochMs {
  return backfilledAt + lifetimeMs(policy);
}

/** Longest life of an execution in ms. */
export function lifetimeMs({ maxLifetimeMs = DEFAULT_LIFETIME_MS }: Pick<ExecutionPolicy, "maxLifetimeMs">): number {
  return maxLifetimeMs;
}

/** Time limit of an attempt in ms, 1 or more: its timeout, or the rest of the execution's lifetime if that is shorter. */
export function attemptLimitMs(row: Living, startedAt: EpochMs): number {
  return Math.max(1, Math.min(row.policy.timeoutMs, lifetimeEnd(row) - startedAt));
}

/** Error of an execution whose lifetime ended outside of an attempt that failed. */
export function lifetimeError({ policy }: Living): ExecutionError {
  const sec = lifetimeMs(policy) / 1_000;
  return { name: "LifetimeExceeded", message: `it was not final ${sec} s after it was due: maxLifetimeSec is ${sec}` };
}
