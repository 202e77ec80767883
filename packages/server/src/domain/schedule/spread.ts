import { fnv1a, type JobId } from "../ids.ts";

const SEED = 0x5bd1e995;

/** How late a job fires within its spread: evenly over jobs, the same for a job every day. 0 to below `spreadSec`. */
export function spreadShiftMs(jobId: JobId, spreadSec: number): number {
  return Math.floor((fnv1a(jobId, SEED) / 2 ** 32) * spreadSec * 1_000);
}
