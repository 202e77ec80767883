import type { Contender } from "../contenders/contender.ts";
import { CONTENDERS } from "../contenders/contenders.ts";
import { FIGURES, type FigureName, type Spread } from "../figures.ts";
import type { Scale } from "../scenarios/scenario.ts";
import { SCENARIOS } from "../scenarios/scenarios.ts";

/** Any scale: the contenders of a case do not depend on its size. */
const SMALL: Scale = {
  isQuick: true,
  backlogJobs: 1,
  storedJobs: [1, 2],
  sleepers: 1,
  perSec: 1,
  tenants: 1,
  herdJobs: 1,
};

const ALL: readonly Contender[] = [
  ...CONTENDERS,
  ...SCENARIOS.flatMap(({ cases }) => cases(SMALL)).flatMap(({ contenders }) => contenders ?? []),
];

export function contenderOf(name: string): Contender {
  const found = ALL.find((contender) => contender.name === name);
  if (found === undefined) throw new Error(`nobody is called ${name}`);
  return found;
}

export function formatted(figure: FigureName, value: number): string {
  const { digits } = FIGURES[figure];
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The median, and the range if there were several runs. */
export function spreadText(figure: FigureName, { min, median, max }: Spread): string {
  const text = formatted(figure, median);
  const [low, high] = [formatted(figure, min), formatted(figure, max)];
  return low === high ? text : `${text} (${low} to ${high})`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
