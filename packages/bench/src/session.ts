import type { Contender } from "./contenders/contender.ts";
import { FIGURES, type FigureName, type Figures, type Spread, spreadOf } from "./figures.ts";
import type { Case, Scale, Scenario } from "./scenarios/scenario.ts";
import type { Stage } from "./services/stage.ts";

/** One contender in one case. */
export interface Outcome {
  contender: string;
  /** Of each run. */
  runs: Figures[];
  /** What went wrong; then there are fewer runs. */
  failures: string[];
  spreads: Partial<Record<FigureName, Spread>>;
}

export interface CaseResult {
  scenario: string;
  name: string;
  title: string;
  outcomes: Outcome[];
}

export interface SessionOptions {
  scenarios: readonly Scenario[];
  contenders: readonly Contender[];
  scale: Scale;
  runs: number;
}

/**
 * Measures everything, case by case; within a case the contenders take turns, so that a machine that drifts drifts for all.
 * @param keep is given each case when it is done
 */
export async function measureAll(
  { scenarios, contenders, scale, runs }: SessionOptions,
  stage: Stage,
  keep: (result: CaseResult) => Promise<void>,
): Promise<void> {
  for (const scenario of scenarios) {
    for (const item of scenario.cases(scale)) {
      const takers = (item.contenders ?? contenders).filter((contender) => item.takes?.(contender) ?? true);
      console.log(`\n${item.title}`);
      const outcomes = await measureCase(item, takers, stage, Math.min(runs, item.runsMax ?? runs));
      await keep({ scenario: scenario.name, name: item.name, title: item.title, outcomes });
    }
  }
}

async function measureCase(
  item: Case,
  contenders: readonly Contender[],
  stage: Stage,
  runs: number,
): Promise<Outcome[]> {
  const outcomes = contenders.map(({ name }): Outcome => ({ contender: name, runs: [], failures: [], spreads: {} }));
  for (let run = 0; run < runs; run++) {
    for (const [index, contender] of contenders.entries()) {
      await measureOnce(item, contender, stage, outcomes[index] as Outcome);
    }
  }
  for (const outcome of outcomes) outcome.spreads = spreadsOf(outcome.runs);
  return outcomes;
}

async function measureOnce(item: Case, contender: Contender, stage: Stage, outcome: Outcome): Promise<void> {
  try {
    const figures = [await item.measure(contender, stage)].flat();
    outcome.runs.push(...figures);
    for (const part of figures) console.log(`  ${contender.title.padEnd(28)}${lineOf(part)}`);
  } catch (error) {
    outcome.failures.push(reasonOf(error));
    console.log(`  ${contender.title.padEnd(28)}FAILED: ${outcome.failures.at(-1)}`);
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${reasonOf(error.cause)}`;
}

function spreadsOf(runs: readonly Figures[]): Outcome["spreads"] {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run)))] as FigureName[];
  const valuesOf = (name: FigureName) => runs.map((run) => run[name]).filter((value) => value !== undefined);
  return Object.fromEntries(names.map((name) => [name, spreadOf(valuesOf(name))]));
}

function lineOf(figures: Figures): string {
  return (Object.entries(figures) as [FigureName, number][])
    .map(([name, value]) => `${value.toFixed(FIGURES[name].digits)} ${FIGURES[name].title}`)
    .join(", ");
}
