import { FIGURES, type FigureName, type Figures, type Spread, spreadOf } from "./figures.ts";
import type { Machine } from "./machine.ts";

/** Result of one run of a contender in a case: its time, its version, and the load of other processes. */
export interface Occasion {
  /** When its case began, ISO 8601. */
  at: string;
  /** Commit of Mainspring and of the benchmark. */
  commit: string;
  /** The load average of the minute before it. */
  load: number;
  /** Percent of the machine's CPU that others took meanwhile; null where nobody can tell. */
  othersPercent: number | null;
  /** Figures of each run. */
  runs: Figures[];
  /** Error of a run; then there are fewer runs. */
  failures: string[];
}

/** One contender in one case. */
export interface Outcome {
  contender: string;
  /** One, or several where results of several sessions were put together. */
  occasions: Occasion[];
  /** Summary of all runs. */
  spreads: Partial<Record<FigureName, Spread>>;
}

export interface CaseResult {
  scenario: string;
  name: string;
  title: string;
  outcomes: Outcome[];
}

/** Everything that a session found out, or several of them; what the JSON file holds. */
export interface Measured {
  /** Says what it is; goes up when figures of before are not comparable any more. */
  format: typeof FORMAT;
  isQuick: boolean;
  machine: Machine;
  results: CaseResult[];
}

export const FORMAT = "mainspring-bench-2";

export function outcomeOf(contender: string, occasions: Occasion[]): Outcome {
  return { contender, occasions, spreads: spreadsOf(occasions.flatMap(({ runs }) => runs)) };
}

function spreadsOf(runs: readonly Figures[]): Outcome["spreads"] {
  const names = (Object.keys(FIGURES) as FigureName[]).filter((name) => runs.some((run) => run[name] !== undefined));
  const valuesOf = (name: FigureName) => runs.map((run) => run[name]).filter((value) => value !== undefined);
  return Object.fromEntries(names.map((name) => [name, spreadOf(valuesOf(name))]));
}
