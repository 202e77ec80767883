import { fnv1a, type JobId } from "../ids.ts";

const SEED = 0x5bd1e995;

/**
 * Delay in ms of a job within its spread: evenly distributed over jobs, and the same for a job at each fire. 0 to below
 * `spreadSec`.
 */
export function spreadShiftMs(jobId: JobId, spreadSec: number): number {
  return Math.floor((fnv1a(jobId, SEED) / 2 ** 32) * spreadSec * 1_000);
}
