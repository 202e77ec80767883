import type { Contender } from "../contenders/contender.ts";
import { CONTENDERS } from "../contenders/contenders.ts";
import {
  mainspringClusters,
  mainspringEmbedded,
  mainspringEmbeddedDefault,
  mainspringKafka,
  mainspringMesh,
  mainspringTelling,
  mainspringToKafka,
} from "../contenders/mainspring/mainspring.ts";
import { FIGURES, type FigureName, type Spread } from "../figures.ts";

const ALL: readonly Contender[] = [
  ...CONTENDERS,
  ...[mainspringEmbedded, mainspringEmbeddedDefault, mainspringMesh, mainspringKafka],
  ...[mainspringTelling, mainspringToKafka],
  ...mainspringClusters,
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
