/** Figures that a case may measure, by name. */
export const FIGURES = {
  jobsPerSec: { title: "jobs/s", digits: 0, better: "more" },
  nodesPerSec: { title: "nodes/s", digits: 0, better: "more" },
  stepsPerSec: { title: "steps/s", digits: 0, better: "more" },
  suspensionsPerSec: { title: "suspensions/s", digits: 0, better: "more" },
  mibPerSec: { title: "MiB/s", digits: 1, better: "more" },
  ratio: { title: "ratio", digits: 2, better: "more" },
  p50Ms: { title: "p50 ms", digits: 1, better: "less" },
  p99Ms: { title: "p99 ms", digits: 1, better: "less" },
  p999Ms: { title: "p99.9 ms", digits: 1, better: "less" },
  maxMs: { title: "max ms", digits: 1, better: "less" },
  pickupP50Ms: { title: "pickup p50 ms", digits: 1, better: "less" },
  pickupP99Ms: { title: "pickup p99 ms", digits: 1, better: "less" },
  timersP50Ms: { title: "timers p50 ms", digits: 1, better: "less" },
  timersP99Ms: { title: "timers p99 ms", digits: 1, better: "less" },
  submitMs: { title: "submit ms", digits: 0, better: "less" },
  submitHeldMs: { title: "event loop held in the submit ms", digits: 1, better: "less" },
  heldMs: { title: "event loop held ms", digits: 1, better: "less" },
  storeCpuRatio: { title: "store CPU, node to job", digits: 2, better: "less" },
  logRatio: { title: "log bytes, node to job", digits: 2, better: "less" },
  backMs: { title: "started elsewhere after ms", digits: 0, better: "less" },
  readyMs: { title: "all ready after ms", digits: 0, better: "less" },
  statementsPerSec: { title: "statements/s", digits: 1, better: "less" },
  cpuPercent: { title: "CPU %", digits: 2, better: "less" },
  restCpuPercent: { title: "CPU % without them", digits: 2, better: "less" },
  residentMiB: { title: "memory MiB", digits: 0, better: "less" },
  growthMiB: { title: "memory growth MiB", digits: 1, better: "less" },
  slotsInUse: { title: "slots in use", digits: 0, better: "less" },
  serverPeakMiB: { title: "server peak MiB", digits: 0, better: "less" },
  workerPeakMiB: { title: "worker peak MiB", digits: 0, better: "less" },
  bytesPerJob: { title: "stored bytes/job", digits: 1, better: "less" },
  extrapolatedGiB: { title: "GiB at 100,000,000 jobs", digits: 1, better: "less" },
  serverCpuUs: { title: "server CPU µs/job", digits: 1, better: "less" },
  workerCpuUs: { title: "worker CPU µs/job", digits: 1, better: "less" },
  storeCpuUs: { title: "store CPU µs/job", digits: 1, better: "less" },
  totalCpuUs: { title: "all CPU µs/job", digits: 1, better: "less" },
  clientCpuUs: { title: "client CPU µs/job", digits: 1, better: "less" },
  withClientCpuUs: { title: "all CPU with the client's µs/job", digits: 1, better: "less" },
  logBytes: { title: "log bytes/job", digits: 0, better: "less" },
  writesPerThousand: { title: "commits/1,000 jobs", digits: 1, better: "less" },
  serverStepCpuUs: { title: "server CPU µs/step", digits: 1, better: "less" },
  workerStepCpuUs: { title: "worker CPU µs/step", digits: 1, better: "less" },
  storeStepCpuUs: { title: "store CPU µs/step", digits: 1, better: "less" },
  totalStepCpuUs: { title: "all CPU µs/step", digits: 1, better: "less" },
  stepLogBytes: { title: "log bytes/step", digits: 0, better: "less" },
  writesPerThousandSteps: { title: "commits/1,000 steps", digits: 1, better: "less" },
} as const;

export type FigureName = keyof typeof FIGURES;
export type Figures = Partial<Record<FigureName, number>>;

/** Names of costs per step, by those of costs per job. */
const STEP_COSTS = {
  serverCpuUs: "serverStepCpuUs",
  workerCpuUs: "workerStepCpuUs",
  storeCpuUs: "storeStepCpuUs",
  totalCpuUs: "totalStepCpuUs",
  logBytes: "stepLogBytes",
  writesPerThousand: "writesPerThousandSteps",
} as const satisfies Partial<Record<FigureName, FigureName>>;

/** Summary of one figure over all runs. */
export interface Spread {
  min: number;
  median: number;
  max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { min: quantile(sorted, 0), median: quantile(sorted, 0.5), max: quantile(sorted, 1) };
}

/** Lateness figures with the name of the measured part as prefix. */
export function prefixed(what: "pickup" | "timers", { p50Ms, p99Ms }: Figures): Figures {
  return {
    ...(p50Ms !== undefined && { [`${what}P50Ms`]: p50Ms }),
    ...(p99Ms !== undefined && { [`${what}P99Ms`]: p99Ms }),
  };
}

/** Costs per step, from those per job of jobs of one step. */
export function stepCosts(costs: Figures): Figures {
  const named = (Object.entries(STEP_COSTS) as [keyof typeof STEP_COSTS, FigureName][]).flatMap(([name, ofStep]) =>
    costs[name] === undefined ? [] : [[ofStep, costs[name]] as const],
  );
  return Object.fromEntries(named);
}

/** Lateness figures from single values. */
export function latenessOf(values: Float64Array): Figures {
  const sorted = values.toSorted();
  const at = (part: number) => quantile(sorted, part);
  return { p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999), maxMs: at(1) };
}

/** The smallest value that a share of all values does not exceed. */
function quantile(sorted: ArrayLike<number>, part: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN;
}
