import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FIGURES } from "../../packages/bench/src/figures.ts";
import type { CaseResult, Measured, Outcome } from "../../packages/bench/src/measured.ts";
import type {
  CaseKey,
  Costs,
  Figure,
  MeasuredCase,
  OptionalCase,
  RequiredCase,
} from "../../packages/cli/src/capacity/costs.ts";
import { ENGINE_LIMITS, STORE_CONNECTIONS_MAX, WORKER_LIMITS } from "../../packages/server/src/testing.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Files with results. The first one that has a case counts; the second has cases that a report need not have. */
const FILES = ["docs/performance/results.json", "docs/performance/further.json"] as const;
const FORMAT = /^mainspring-bench-\d+$/;

const COSTS_OF_JOBS = ["serverCpuUs", "storeCpuUs", "logBytes", "writesPerThousand"] as const;

/** Place of a case in a report. */
interface Wanted {
  /** Name of the case, or its scenario if sizes are part of its name. */
  case: { name: string } | { scenario: string };
  contender: string;
  figures: readonly Figure[];
}

const named = (name: string, contender: string, ...figures: Figure[]): Wanted => ({
  case: { name },
  contender,
  figures,
});
const ofScenario = (scenario: string, contender: string, ...figures: Figure[]): Wanted => ({
  case: { scenario },
  contender,
  figures,
});

const REQUIRED: Record<RequiredCase, Wanted> = {
  cycle: named("cycle", "mainspring", "jobsPerSec", ...COSTS_OF_JOBS),
  drain: named("drain-200k", "mainspring", "jobsPerSec", ...COSTS_OF_JOBS),
  pickup200: named("pickup-200", "mainspring", ...COSTS_OF_JOBS),
  pickup2000: named("pickup-2000", "mainspring", ...COSTS_OF_JOBS),
  submit64: named("submit-64", "mainspring", "jobsPerSec", ...COSTS_OF_JOBS),
  cluster1: named("cluster-cycle", "mainspring-1-nodes", "jobsPerSec", ...COSTS_OF_JOBS),
  cluster2: named("cluster-cycle", "mainspring-2-nodes", "jobsPerSec", ...COSTS_OF_JOBS),
  cluster3: named("cluster-cycle", "mainspring-3-nodes", "jobsPerSec", ...COSTS_OF_JOBS),
};

/** Cases that a report may lack, each with others in its place, the best first. */
const OPTIONAL: Record<OptionalCase, readonly Wanted[]> = {
  fleet1: [named("fleet", "mainspring", "jobsPerSec", "ratio", "cpuPercent", "residentMiB")],
  fleet3: [named("fleet", "mainspring-3-nodes", "jobsPerSec", "cpuPercent", "residentMiB")],
  ready: [
    named("fair-tenants", "mainspring-default", "residentMiB"),
    ofScenario("recurring-herd", "mainspring", "residentMiB"),
  ],
  recurring: [ofScenario("recurring-rest", "mainspring", "cpuPercent", "residentMiB")],
  storage: [ofScenario("storage", "mainspring", "bytesPerJob")],
  payload: [named("payload-1m", "mainspring", "mibPerSec", "serverPeakMiB", ...COSTS_OF_JOBS)],
  eventsOff: [ofScenario("events", "mainspring", ...COSTS_OF_JOBS)],
  eventsApi: [ofScenario("events", "mainspring-telling", ...COSTS_OF_JOBS)],
  eventsKafka: [ofScenario("events", "mainspring-to-kafka", ...COSTS_OF_JOBS)],
};

/** A file with results of the benchmark. */
export interface Report {
  /** Path from the repository's root. */
  file: string;
  measured: Measured;
}

export function readReports(): Report[] {
  return FILES.filter((file) => existsSync(join(ROOT, file))).map((file) => {
    const measured = JSON.parse(readFileSync(join(ROOT, file), "utf8")) as Measured;
    if (!FORMAT.test(measured.format)) throw new Error(`${file} is not a file that the benchmark wrote`);
    if (measured.isQuick) throw new Error(`${file} has quick results, from which no need can be computed`);
    return { file, measured };
  });
}

/** Derives the table of the calculator. @throws a required case or one of its figures is missing */
export function costsOf(reports: readonly Report[]): Costs {
  const required = Object.entries(REQUIRED).map(([key, wanted]) => {
    const found = caseOf(wanted, reports);
    if (found === null) throw new Error(`the results lack ${JSON.stringify(wanted)}, which the calculator needs`);
    return [key, found] as const;
  });
  const optional = Object.entries(OPTIONAL).map(([key, list]) => {
    return [key, list.map((wanted) => caseOf(wanted, reports)).find((found) => found !== null) ?? null] as const;
  });
  const { entries } = ENGINE_LIMITS;
  return {
    machines: Object.fromEntries(reports.map(({ file, measured }) => [file, measured.machine])),
    limits: { connections: STORE_CONNECTIONS_MAX, workers: WORKER_LIMITS.connections, entries },
    titles: titlesOf(Object.values(REQUIRED), ...Object.values(OPTIONAL)),
    cases: Object.fromEntries([...required, ...optional]) as Record<CaseKey, MeasuredCase> as Costs["cases"],
  };
}

function titlesOf(...wanted: (readonly Wanted[])[]): Costs["titles"] {
  const names = new Set(wanted.flat().flatMap(({ figures }) => figures));
  return Object.fromEntries([...names].map((name) => [name, FIGURES[name].title])) as Costs["titles"];
}

function caseOf(wanted: Wanted, reports: readonly Report[]): MeasuredCase | null {
  for (const { file, measured } of reports) {
    for (const result of measured.results.filter((one) => isWanted(one, wanted))) {
      const outcome = result.outcomes.find(({ contender }) => contender === wanted.contender);
      const figures = outcome === undefined ? null : figuresOf(outcome, wanted.figures);
      if (outcome !== undefined && figures !== null) return { ...sourceOf(result, outcome), file, figures };
    }
  }
  return null;
}

function isWanted({ name, scenario }: CaseResult, wanted: Wanted): boolean {
  return "name" in wanted.case ? name === wanted.case.name : scenario === wanted.case.scenario;
}

/** Medians of figures. @returns null: one of them is missing, as if all runs failed */
function figuresOf({ spreads }: Outcome, names: readonly Figure[]): MeasuredCase["figures"] | null {
  const medians = names.map((name) => [name, spreads[name]?.median] as const);
  return medians.every(([, value]) => value !== undefined) ? Object.fromEntries(medians) : null;
}

function sourceOf({ name, title }: CaseResult, { contender, occasions }: Outcome) {
  return {
    case: name,
    title,
    contender,
    size: sizeOf(name, title),
    commit: [...new Set(occasions.map(({ commit }) => commit))].join(", "),
    at: occasions[0]?.at ?? "",
    runs: occasions.flatMap(({ runs }) => runs).length,
  };
}

/** First number of a title. Tenants with jobs count as these jobs. */
function sizeOf(name: string, title: string): number | null {
  const [first, second] = (title.match(/\d[\d,]*/g) ?? []).map((text) => Number(text.replaceAll(",", "")));
  if (name === "fair-tenants" && first !== undefined && second !== undefined) return first * second;
  return first ?? null;
}
