import { FIGURES, type FigureName, type Figures, type Spread, spreadOf } from "./figures.ts";
import type { Machine } from "./machine.ts";

/** Result of one run of a contender in a case: its time, its version, and the load of other processes. */
export interface Occasion {
  /** Start of its case, in ISO 8601. */
  at: string;
  /** Commit of Mainspring and of the benchmark. */
  commit: string;
  /** Load average of the minute before the run. */
  load: number;
  /** Share of the machine's CPU that other processes used meanwhile, in percent; null: not known. */
  othersPercent: number | null;
  /** Figures of each run. */
  runs: Figures[];
  /** Errors of runs, which have no figures. */
  failures: string[];
}

/** One contender in one case. */
export interface Outcome {
  contender: string;
  /** One occasion, or several if results of several sessions were merged. */
  occasions: Occasion[];
  /** Reason why the contender cannot run the case, of which it has no occasion; absent: it can. */
  unsupported?: string;
  /** Summary of all runs. */
  spreads: Partial<Record<FigureName, Spread>>;
}

export interface CaseResult {
  scenario: string;
  name: string;
  title: string;
  outcomes: Outcome[];
}

/** Results of one session or of several: the content of the JSON file. */
export interface Measured {
  /** Format of the file, which changes when earlier figures are not comparable any more. */
  format: typeof FORMAT;
  isQuick: boolean;
  machine: Machine;
  results: CaseResult[];
}

export const FORMAT = "mainspring-bench-3";

export function outcomeOf(contender: string, occasions: Occasion[]): Outcome {
  return { contender, occasions, spreads: spreadsOf(occasions.flatMap(({ runs }) => runs)) };
}

function spreadsOf(runs: readonly Figures[]): Outcome["spreads"] {
  const names = (Object.keys(FIGURES) as FigureName[]).filter((name) => runs.some((run) => run[name] !== undefined));
  const valuesOf = (name: FigureName) => runs.map((run) => run[name]).filter((value) => value !== undefined);
  return Object.fromEntries(names.map((name) => [name, spreadOf(valuesOf(name))]));
}
