import type { QUOTAS } from "../../domain/tenant.ts";
import { type Problem, ProblemError, problem } from "../http/errors.ts";

export type QuotaName = (typeof QUOTAS)[number];

/** Problem that names a quota of the caller's tenant, and nothing about others. */
export interface QuotaProblem extends Problem {
  quota: QuotaName;
  limit: number;
  used: number;
}

const TEXTS: Record<QuotaName, (limit: number) => string> = {
  maxWaiting: (limit) => `at most ${limit} executions of the tenant may wait`,
  maxRecurring: (limit) => `the tenant may have at most ${limit} recurring jobs`,
  submitsPerSec: (limit) => `the tenant may submit ${limit} jobs a second`,
  requestsPerSec: (limit) => `the tenant may send ${limit} requests a second`,
  maxPayloadBytes: (limit) => `a payload of the tenant may have at most ${limit} bytes`,
  maxBatchBytes: (limit) => `the body of a batch or workflow of the tenant may have at most ${limit} bytes`,
};

/**
 * Refusal of a submit that may succeed later.
 * @param used rows that exist, or jobs or requests of the last ten seconds
 */
export function quotaExceeded(quota: QuotaName, limit: number, used: number, waitMs: number): ProblemError {
  const sec = Math.max(1, Math.ceil(waitMs / 1_000));
  const detail = `${TEXTS[quota](limit)}: nothing was written; try again in ${sec} s`;
  const told: QuotaProblem = { ...problem("quota-exceeded", detail), quota, limit, used };
  const left = Math.max(0, Math.floor(limit - used));
  return new ProblemError(told, {
    "retry-after": String(sec),
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(left),
    "ratelimit-reset": String(sec),
  });
}

/** Refusal of a submit that is larger than the quota ever allows. @param used number that the request needs */
export function quotaNeverFits(quota: QuotaName, limit: number, used: number, largest = limit): ProblemError {
  const detail = `${TEXTS[quota](limit)}; the request needs ${used}, and at most ${largest} at once can ever be taken: divide it`;
  const told: QuotaProblem = { ...problem("quota-never-fits", detail), quota, limit, used };
  return new ProblemError(told);
}
