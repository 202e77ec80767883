import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Contender } from "../contenders/contender.ts";
import { formsOf } from "../contenders/mainspring/mainspring.ts";
import { THIS_TREE } from "../contenders/mainspring/source-tree.ts";
import { FIGURES, type FigureName } from "../figures.ts";
import { Neighbours } from "../meter/neighbours.ts";
import { formatted } from "../report/words.ts";
import type { Case, Scale, Scenario } from "../scenarios/scenario.ts";
import type { Stage } from "../services/stage.ts";
import { reasonOf } from "../session.ts";
import { type Compared, comparisonOf, meanOf, orderOf, type Pair } from "./comparison.ts";
import { earlierTree } from "./earlier-tree.ts";

export interface CompareOptions {
  /** Tag, branch or commit. */
  ref: string;
  scenarios: readonly Scenario[];
  scale: Scale;
  pairs: number;
}

/** A form of Mainspring in both trees. */
interface Form {
  here: Contender;
  there: Contender;
}

/**
 * Measures this tree and an earlier commit by turns, and prints the ratios of their figures. Both trees are measured by
 * the benchmark of this tree. @returns whether each case has a pair of figures
 */
export async function compare({ ref, scenarios, scale, pairs }: CompareOptions, stage: Stage): Promise<boolean> {
  await using earlier = await earlierTree(ref);
  const [here, there] = [formsOf(THIS_TREE), formsOf(earlier)];
  const forms = (["remote", "byDefault", "inside"] as const).map((form) => ({ here: here[form], there: there[form] }));
  let isComplete = true;
  for (const item of scenarios.flatMap(({ cases }) => cases(scale))) {
    const taking = forms.filter((form) => isTaking(item, form));
    if (taking.length === 0) continue;
    if (item.needs !== undefined && !existsSync(join(earlier.folder, item.needs))) {
      console.log(`\n${item.title}: not compared, because ${ref} (${earlier.label}) has no ${item.needs}`);
      continue;
    }
    const neighbours = new Neighbours();
    console.log(`\n${item.title}: this tree to ${ref} (${earlier.label}), ${pairs} pairs`);
    for (const form of taking) isComplete = (await compareForm(item, form, pairs, stage)) && isComplete;
    const others = neighbours.percent();
    if (others !== null) console.log(`  others took ${others.toFixed(0)} % of the CPU`);
  }
  return isComplete;
}

function isTaking({ contenders, takes }: Case, { here }: Form): boolean {
  const isMeant = contenders?.some(({ name }) => name === here.name) ?? true;
  return isMeant && (takes?.(here) ?? true);
}

async function compareForm(item: Case, form: Form, pairs: number, stage: Stage): Promise<boolean> {
  const measured: Pair[] = [];
  for (let index = 0; index < pairs; index++) {
    try {
      measured.push(await measurePair(item, form, index, stage));
    } catch (error) {
      console.log(`  ${form.here.title}: pair ${index + 1} FAILED: ${reasonOf(error)}`);
    }
  }
  const compared = Object.entries(comparisonOf(measured)) as [FigureName, Compared][];
  console.log(`  ${form.here.title}, ${measured.length} of ${pairs} pairs`);
  for (const [name, figure] of compared) console.log(`    ${lineOf(name, figure)}`);
  return compared.length > 0;
}

async function measurePair(item: Case, form: Form, index: number, stage: Stage): Promise<Pair> {
  const figures: { here?: Pair["here"]; there?: Pair["there"] } = {};
  for (const side of orderOf(index)) figures[side] = meanOf([await item.measure(form[side], stage)].flat());
  return { here: figures.here ?? {}, there: figures.there ?? {} };
}

function lineOf(name: FigureName, { here, there, ratio, isClear }: Compared): string {
  const ratios = `${ratio.median.toFixed(3)} (${ratio.min.toFixed(3)} to ${ratio.max.toFixed(3)})`;
  const note = isClear ? "" : ", not clear";
  return `${FIGURES[name].title.padEnd(28)}${formatted(name, here)} to ${formatted(name, there)}, ratio ${ratios}${note}`;
}
