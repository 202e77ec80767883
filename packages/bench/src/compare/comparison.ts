import { FIGURES, type FigureName, type Figures, type Spread } from "../figures.ts";

/** Figures of two runs that followed each other, one of each tree. */
export interface Pair {
  readonly here: Figures;
  readonly there: Figures;
}

/** One figure in all pairs. */
export interface Compared {
  /** Medians. */
  readonly here: number;
  readonly there: number;
  /** Ratios of each pair, this tree's figure to the other's. */
  readonly ratio: Spread;
  /** Whether the ratios of all pairs are on the same side of 1. */
  readonly isClear: boolean;
}

/**
 * Compares figure by figure. The ratio of a pair cancels the machine's speed, which both runs of the pair share; medians
 * of each side would not.
 */
export function comparisonOf(pairs: readonly Pair[]): Partial<Record<FigureName, Compared>> {
  const compared = (Object.keys(FIGURES) as FigureName[]).flatMap((name) => {
    const both = pairs.flatMap(({ here, there }) => {
      const [one, other] = [here[name], there[name]];
      return one === undefined || other === undefined || other === 0 ? [] : [{ one, other, ratio: one / other }];
    });
    if (both.length === 0) return [];
    const ratio = spreadOfPairs(both.map((pair) => pair.ratio));
    const of = (side: "one" | "other") => spreadOfPairs(both.map((pair) => pair[side])).median;
    return [[name, { here: of("one"), there: of("other"), ratio, isClear: ratio.max < 1 || ratio.min > 1 }] as const];
  });
  return Object.fromEntries(compared);
}

/** The median of an even number of values is the mean of the two in the middle, because there are few pairs. */
function spreadOfPairs(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  const median = (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2;
  return { min: at(0), median, max: at(sorted.length - 1) };
}

/** Means of the figures of a run's parts. */
export function meanOf(parts: readonly Figures[]): Figures {
  const names = Object.keys(parts[0] ?? {}) as FigureName[];
  const mean = (name: FigureName) => parts.reduce((sum, part) => sum + (part[name] ?? Number.NaN), 0) / parts.length;
  return Object.fromEntries(names.map((name) => [name, mean(name)]));
}

/** Order of the runs of pair number `index`: the trees take turns in being first, so that neither always runs on the warmer machine. */
export function orderOf(index: number): readonly ["here", "there"] | readonly ["there", "here"] {
  return index % 2 === 0 ? ["here", "there"] : ["there", "here"];
}
