import { FIGURES, type FigureName, type Spread } from "../figures.ts";
import type { CaseResult, Outcome } from "../measured.ts";
import { barChart } from "./bar-chart.ts";
import { contenderOf, formatted } from "./words.ts";

/** A picture of the report. */
export interface Plot {
  file: string;
  alt: string;
  svg: string;
}

/** Candidates for the main figure of a case, of which the first existing one counts. */
const MAIN: readonly FigureName[] = ["ratio", "backMs", "jobsPerSec", "nodesPerSec", "p99Ms", "statementsPerSec"];
const LATENESS: readonly FigureName[] = ["p99Ms"];
const COSTS: readonly FigureName[] = ["serverCpuUs", "workerCpuUs", "storeCpuUs"];

/** Pictures of a case: its main figure, and the CPU per job if throughput is measured. */
export function plotsOf(result: CaseResult): Plot[] {
  const outcomes = result.outcomes.filter(({ occasions }) => occasions.some(({ runs }) => runs.length > 0));
  if (outcomes.length < 2) return [];
  const lateness = result.scenario === "pickup" || result.scenario === "timers";
  const figure = (lateness ? LATENESS : MAIN).find((name) => outcomes.some(({ spreads }) => name in spreads));
  const plots = figure === undefined ? [] : [mainPlot(result, outcomes, figure)];
  const hasCosts = /^(cluster-|embedded-)?(drain|cycle)/.test(result.name);
  return hasCosts ? [...plots, costPlot(result, outcomes)] : plots;
}

function mainPlot({ name, title }: CaseResult, outcomes: readonly Outcome[], figure: FigureName): Plot {
  const spreads = outcomes.flatMap(({ contender, spreads: all }) => {
    const spread = all[figure];
    return spread === undefined ? [] : [{ contender, spread }];
  });
  const ratio =
    Math.max(...spreads.map(({ spread }) => spread.max)) / Math.min(...spreads.map(({ spread }) => spread.min));
  const isLogarithmic = ratio > 30;
  const heading = `${title}: ${FIGURES[figure].title}${isLogarithmic ? ", logarithmic" : ""}`;
  const bars = spreads.map(({ contender, spread }) => barOf(contender, spread, formatted(figure, spread.median)));
  return plot(`${name}.svg`, heading, barChart({ title: heading, legend: [], bars, isLogarithmic }));
}

function costPlot({ name, title }: CaseResult, outcomes: readonly Outcome[]): Plot {
  const heading = `${title}: CPU of a job, µs`;
  const bars = outcomes.map(({ contender, spreads }) => {
    const values = COSTS.map((cost) => spreads[cost]?.median ?? 0);
    const { title: label, isPeer } = contenderOf(contender);
    return { label, values, text: formatted("totalCpuUs", spreads.totalCpuUs?.median ?? 0), isOurs: !isPeer };
  });
  const legend = ["server", "worker", "store"];
  return plot(`${name}-cpu.svg`, heading, barChart({ title: heading, legend, bars, isLogarithmic: false }));
}

function barOf(name: string, { min, median, max }: Spread, text: string) {
  const { title: label, isPeer } = contenderOf(name);
  return { label, values: [median], min, max, text, isOurs: !isPeer };
}

function plot(file: string, alt: string, svg: string): Plot {
  return { file, alt, svg };
}
