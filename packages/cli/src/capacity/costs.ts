import measured from "./measured-costs.json" with { type: "json" };

/** Figures of the benchmark that the calculator uses. Its report says `server CPU µs/job` for `serverCpuUs`, and so on. */
export type Figure =
  | "bytesPerJob"
  | "cpuPercent"
  | "jobsPerSec"
  | "logBytes"
  | "mibPerSec"
  | "ratio"
  | "residentMiB"
  | "serverCpuUs"
  | "serverPeakMiB"
  | "storeCpuUs"
  | "writesPerThousand";

/** Figures of each job: microseconds of CPU, bytes of the log, and commits of 1,000 jobs. */
export type CostFigure = "serverCpuUs" | "storeCpuUs" | "logBytes" | "writesPerThousand";

/** Cases without which there is no calculation. */
export type RequiredCase =
  | "cycle"
  | "drain"
  | "pickup200"
  | "pickup2000"
  | "submit64"
  | "cluster1"
  | "cluster2"
  | "cluster3";
/** Cases that a report may lack. The needs that rest on them are then left out. */
export type OptionalCase =
  | "fleet1"
  | "fleet3"
  | "ready"
  | "recurring"
  | "storage"
  | "payload"
  | "eventsOff"
  | "eventsApi"
  | "eventsKafka";
export type CaseKey = RequiredCase | OptionalCase;

/** A case of the benchmark and one contender in it. */
export interface MeasuredCase {
  /** Name of the case in the report. */
  case: string;
  title: string;
  contender: string;
  /** First number of the title, such as the workers of `a fleet of 10,000 workers`; null: it has none. */
  size: number | null;
  /** Commit of Mainspring that was measured. */
  commit: string;
  /** Start of the measurement, in ISO 8601. */
  at: string;
  /** Number of runs. */
  runs: number;
  /** File with the results, from the repository's root. */
  file: string;
  /** Medians of the runs. */
  figures: Partial<Record<Figure, number>>;
}

/** Limits of the server's code, which no benchmark measures. */
interface NodeLimits {
  /** Largest number of connections of a node to PostgreSQL. */
  connections: number;
  /** Largest number of workers that are connected to a node. */
  workers: number;
  /** Largest number of executions that an owner holds in memory. */
  entries: number;
}

/** Measured costs and limits, which `npm run scale` derives from the results of the benchmark and from the code. */
export interface Costs {
  /** Machine of each file with results. */
  machines: Record<string, Record<string, string>>;
  limits: NodeLimits;
  /** Titles of the figures, with their units, as the report of the benchmark has them. */
  titles: Record<Figure, string>;
  cases: Record<RequiredCase, MeasuredCase> & Record<OptionalCase, MeasuredCase | null>;
}

export const COSTS: Costs = measured;

/** @returns null: the report has no such figure */
export function figureOf({ cases }: Costs, key: CaseKey, figure: Figure): number | null {
  return cases[key]?.figures[figure] ?? null;
}
