/** Size of a store with a number of jobs. */
export interface Point {
  readonly jobs: number;
  readonly bytes: number;
}

/** Straight line through two measured sizes. */
export interface Line {
  /** Bytes without any job. */
  readonly base: number;
  readonly bytesPerJob: number;
}

/** @throws both points have the same number of jobs */
export function lineThrough(small: Point, large: Point): Line {
  if (small.jobs === large.jobs) throw new Error(`two sizes of a store with ${small.jobs} jobs make no line`);
  const bytesPerJob = (large.bytes - small.bytes) / (large.jobs - small.jobs);
  return { base: small.bytes - bytesPerJob * small.jobs, bytesPerJob };
}

export function bytesAt({ base, bytesPerJob }: Line, jobs: number): number {
  return base + bytesPerJob * jobs;
}

/** The extrapolation as people would write it, such as `bytes(n) = 1,000 + 50.0 × n; bytes(100) = 6,000`. */
export function formulaOf(line: Line, jobs: number): string {
  const whole = (value: number) => Math.round(value).toLocaleString("en");
  const perJob = line.bytesPerJob.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  return `bytes(n) = ${whole(line.base)} + ${perJob} × n; bytes(${whole(jobs)}) = ${whole(bytesAt(line, jobs))}`;
}
