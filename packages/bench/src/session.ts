import { loadavg } from "node:os";
import type { Contender } from "./contenders/contender.ts";
import { FIGURES, type FigureName, type Figures } from "./figures.ts";
import { commit } from "./machine.ts";
import { type CaseResult, type Occasion, type Outcome, outcomeOf } from "./measured.ts";
import { Neighbours } from "./meter/neighbours.ts";
import type { Case, Scale, Scenario } from "./scenarios/scenario.ts";
import type { Stage } from "./services/stage.ts";

export interface SessionOptions {
  scenarios: readonly Scenario[];
  contenders: readonly Contender[];
  /** Whether other settings of peers take part in every case. */
  hasVariants: boolean;
  scale: Scale;
  /** Number of runs; null: as many as each case needs, at most `RUNS`. */
  runs: number | null;
}

export const RUNS = 3;

/**
 * Measures all cases in order. Within a case the contenders take turns, so that a change of the machine's speed affects
 * all of them.
 * @param keep called with each case when it is complete
 */
export async function measureAll(
  { scenarios, contenders, hasVariants, scale, runs }: SessionOptions,
  stage: Stage,
  keep: (result: CaseResult) => Promise<void>,
): Promise<void> {
  for (const scenario of scenarios) {
    for (const item of scenario.cases(scale)) {
      const takers = (item.contenders ?? contenders).filter(
        (contender) =>
          (item.takes?.(contender) ?? true) && (hasVariants || item.hasVariants || contender.isVariant !== true),
      );
      const outcomes = await measureCase(item, takers, stage, runs ?? Math.min(RUNS, item.runsMax ?? RUNS));
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
  const [beganMs, neighbours] = [performance.now(), new Neighbours()];
  const [at, load] = [new Date().toISOString(), loadavg()[0] ?? 0];
  console.log(`\n${item.title} (load average ${load.toFixed(1)})`);
  const occasions = contenders.map((): Occasion => ({ at, commit, load, othersPercent: null, runs: [], failures: [] }));
  for (let run = 0; run < runs; run++) {
    for (const [index, contender] of contenders.entries()) {
      await measureOnce(item, contender, stage, occasions[index] as Occasion);
    }
  }
  const othersPercent = neighbours.percent();
  const others = othersPercent === null ? "" : `, others took ${othersPercent.toFixed(0)} % of the CPU`;
  console.log(`  ${((performance.now() - beganMs) / 1_000).toFixed(0)} s${others}`);
  return contenders.map(({ name }, index) => outcomeOf(name, [{ ...(occasions[index] as Occasion), othersPercent }]));
}

async function measureOnce(item: Case, contender: Contender, stage: Stage, occasion: Occasion): Promise<void> {
  try {
    const figures = [await item.measure(contender, stage)].flat();
    occasion.runs.push(...figures);
    for (const part of figures) console.log(`  ${contender.title.padEnd(44)}${lineOf(part)}`);
  } catch (error) {
    occasion.failures.push(reasonOf(error));
    console.log(`  ${contender.title.padEnd(44)}FAILED: ${occasion.failures.at(-1)}`);
  }
}

/** Message of an error, with its causes. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${reasonOf(error.cause)}`;
}

function lineOf(figures: Figures): string {
  return (Object.entries(figures) as [FigureName, number][])
    .map(([name, value]) => `${value.toFixed(FIGURES[name].digits)} ${FIGURES[name].title}`)
    .join(", ");
}
