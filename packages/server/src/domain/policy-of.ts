import { DEFAULT_LIFETIME_MS } from "@mainspring/contract/limits";
import type { EpochMs } from "./ids.ts";
import { DEFAULT_POLICY, type ExecutionPolicy, type OnFinish } from "./job.ts";
import type { RetryPolicy } from "./retry.ts";

/** Policies of an execution as clients and handlers give them. Fields that are left out have defaults. */
interface GivenPolicies {
  retryPolicy?: Partial<RetryPolicy>;
  timeoutSec?: number;
  maxLifetimeSec?: number;
  cancelGraceSec?: number;
  maxLost?: number;
  onWorkerLost?: ExecutionPolicy["onWorkerLost"];
  onFinish?: OnFinish;
}

const FIELDS = [
  ...["retryPolicy", "timeoutSec", "maxLifetimeSec", "cancelGraceSec", "maxLost", "onWorkerLost"],
  "onFinish",
] as readonly (keyof GivenPolicies)[];

/** Fills in every default. @param startBefore null: no bound */
export function policyOf(given: GivenPolicies, startBefore: EpochMs | null): ExecutionPolicy {
  // Most say nothing about it, and need none of their own.
  if (startBefore === null && FIELDS.every((field) => given[field] === undefined)) return DEFAULT_POLICY;
  const seconds = (value: number | undefined, fallbackMs: number) =>
    value === undefined ? fallbackMs : Math.round(value * 1_000);
  return {
    retry: retryOf(given.retryPolicy ?? {}),
    timeoutMs: seconds(given.timeoutSec, DEFAULT_POLICY.timeoutMs),
    ...lifetimeOf(seconds(given.maxLifetimeSec, DEFAULT_LIFETIME_MS)),
    cancelGraceMs: seconds(given.cancelGraceSec, DEFAULT_POLICY.cancelGraceMs),
    maxLost: given.maxLost ?? DEFAULT_POLICY.maxLost,
    onWorkerLost: given.onWorkerLost ?? DEFAULT_POLICY.onWorkerLost,
    startBefore,
    ...(given.onFinish !== undefined && { onFinish: given.onFinish }),
  };
}

/** Leaves the default out, so that it costs no byte of a stored policy. */
function lifetimeOf(maxLifetimeMs: number): Pick<ExecutionPolicy, "maxLifetimeMs"> {
  return maxLifetimeMs === DEFAULT_LIFETIME_MS ? {} : { maxLifetimeMs };
}

function retryOf(retry: Partial<RetryPolicy>): RetryPolicy {
  const merged = { ...DEFAULT_POLICY.retry, ...retry };
  // A policy with a first delay of two hours does not mean the default cap of one hour.
  return { ...merged, maxDelayMs: Math.max(merged.maxDelayMs, merged.initialDelayMs) };
}
