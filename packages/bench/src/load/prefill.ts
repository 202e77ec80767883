import type { BenchJob, Rig } from "../contenders/contender.ts";

export const BATCH = 1_000;
const CALLERS = 4;

/** Submits jobs in batches, of a thousand by default, four at a time. */
export async function prefill(
  rig: Rig,
  jobs: number,
  jobOf: (n: number) => BenchJob = (n) => ({ n }),
  batch = BATCH,
): Promise<void> {
  let next = 0;
  const call = async () => {
    while (next < jobs) {
      const from = next;
      next = Math.min(jobs, from + batch);
      await rig.submitBatch(Array.from({ length: next - from }, (_, index) => jobOf(from + index)));
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}
