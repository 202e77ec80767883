import { loadavg } from "node:os";
import type { Contender } from "./contenders/contender.ts";
import { CONTENDERS } from "./contenders/contenders.ts";
import { FIGURES, type FigureName, type Figures } from "./figures.ts";
import { commit } from "./machine.ts";
import { type CaseResult, type Occasion, type Outcome, outcomeOf } from "./measured.ts";
import { Neighbours } from "./meter/neighbours.ts";
import type { Case, Scale, Scenario } from "./scenarios/scenario.ts";
import type { Stage } from "./services/stage.ts";

export interface SessionOptions {
  scenarios: readonly Scenario[];
  contenders: readonly Contender[];
  /** Whether other settings of Mainspring, or of peers, take part in every case. */
  hasVariants: { readonly ours: boolean; readonly peers: boolean };
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
  { scenarios, scale, runs, ...chosen }: SessionOptions,
  stage: Stage,
  keep: (result: CaseResult) => Promise<void>,
): Promise<void> {
  for (const scenario of scenarios) {
    for (const item of scenario.cases(scale)) {
      const takers = takersOf(item, chosen);
      if (takers.length === 0) continue;
      const outcomes = await measureCase(item, takers, stage, runs ?? Math.min(RUNS, item.runsMax ?? RUNS));
      await keep({ scenario: scenario.name, name: item.name, title: item.title, outcomes });
    }
  }
}

/** Contenders that take part in a case. A case with contenders of its own leaves out those that the user did not choose. */
export function takersOf(
  item: Case,
  { contenders, hasVariants }: Pick<SessionOptions, "contenders" | "hasVariants">,
): Contender[] {
  const isChosen = (contender: Contender) => contenders.includes(contender) || !CONTENDERS.includes(contender);
  const isUsual = ({ isVariant, isPeer }: Contender) =>
    isVariant !== true || item.hasVariants || (isPeer ? hasVariants.peers : hasVariants.ours);
  return (item.contenders ?? contenders).filter(
    (contender) => isChosen(contender) && isUsual(contender) && (item.takes?.(contender) ?? true),
  );
}

async function measureCase(item: Case, takers: readonly Contender[], stage: Stage, runs: number): Promise<Outcome[]> {
  const [beganMs, neighbours] = [performance.now(), new Neighbours()];
  const [at, load] = [new Date().toISOString(), loadavg()[0] ?? 0];
  console.log(`\n${item.title} (load average ${load.toFixed(1)})`);
  const reasons = new Map(takers.map((contender) => [contender, item.unsupported?.(contender) ?? null]));
  const contenders = takers.filter((contender) => reasons.get(contender) === null);
  const occasions = contenders.map((): Occasion => ({ at, commit, load, othersPercent: null, runs: [], failures: [] }));
  for (const [{ title }, reason] of reasons) if (reason !== null) console.log(`  ${title.padEnd(44)}– (${reason})`);
  for (let run = 0; run < runs; run++) {
    for (const [index, contender] of contenders.entries()) {
      await measureOnce(item, contender, stage, occasions[index] as Occasion);
    }
  }
  const othersPercent = neighbours.percent();
  const others = othersPercent === null ? "" : `, others took ${othersPercent.toFixed(0)} % of the CPU`;
  console.log(`  ${((performance.now() - beganMs) / 1_000).toFixed(0)} s${others}`);
  return takers.map((contender) => {
    const unsupported = reasons.get(contender) ?? null;
    if (unsupported !== null) return { ...outcomeOf(contender.name, []), unsupported };
    const occasion = occasions[contenders.indexOf(contender)] as Occasion;
    return outcomeOf(contender.name, [{ ...occasion, othersPercent }]);
  });
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
