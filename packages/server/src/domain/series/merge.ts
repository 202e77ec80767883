import { combined, isSeriesName, kindOf, labelOf, POINT_MS, type SeriesName, type ToldSeries } from "./figures.ts";

/** Values of one series by point; null: nobody told of the point. */
export type Values = readonly (number | null)[];

interface Merged {
  name: SeriesName;
  label: string;
  bucket: number | null;
  values: (number | null)[];
}

/**
 * Series of several nodes, merged by point. A point lacks a node if a node that told of it saw more living nodes then than
 * have told of it: one that has been killed since, that did not answer, or that does not know the question.
 */
export class MergedSeries {
  /** Number of the first point since 1970, in units of `POINT_MS`. */
  readonly from: number;
  readonly length: number;
  /** Nodes that told of each point. */
  readonly told: readonly number[];
  /** Nodes that lived at each point and have not told of it, as far as the others know. */
  readonly missing: readonly number[];
  readonly #columns = new Map<string, Merged>();

  /** @param from number of the first point. @param nodes series of the nodes that answered */
  constructor(from: number, length: number, nodes: readonly ToldSeries[]) {
    this.from = from;
    this.length = length;
    const seen = nodes.map((node) => this.#aligned(node.from, node.nodes));
    const at = (point: number) => seen.flatMap((values) => values[point] ?? []);
    this.told = Array.from({ length }, (_, point) => at(point).length);
    this.missing = this.told.map((told, point) => Math.max(told, ...at(point)) - told);
    for (const node of nodes) this.#add(node);
  }

  /** When a point began, in milliseconds since 1970. */
  startOf(point: number): number {
    return (this.from + point) * POINT_MS;
  }

  /** Whether every node that lived at the point has told of it. */
  isWhole(point: number): boolean {
    return (this.told[point] as number) > 0 && this.missing[point] === 0;
  }

  /** Values of the label of a series that anybody told of, sorted. */
  labels(name: SeriesName): string[] {
    const labels = [...this.#columns.values()].filter((column) => column.name === name).map(({ label }) => label);
    return [...new Set(labels)].sort();
  }

  /**
   * Values of a series, added up over the nodes that told, so that they are too low where a node is missing. Null for a
   * level without a label: no node has it.
   */
  values(name: SeriesName, label = "", bucket: number | null = null): Values {
    const column = this.#columns.get(keyOf(name, label, bucket));
    const kind = kindOf(name);
    const isZeroIfAbsent = kind === "COUNT" || kind === "HISTOGRAM" || labelOf(name) !== null;
    return this.told.map((told, point) => {
      if (told === 0) return null;
      return column?.values[point] ?? (isZeroIfAbsent ? 0 : null);
    });
  }

  /** Counts of a histogram by bucket at each point, as in `values`. @param buckets number of buckets */
  histogram(name: SeriesName, label: string, buckets: number): Values[] {
    return Array.from({ length: buckets }, (_, bucket) => this.values(name, label, bucket));
  }

  #add(node: ToldSeries): void {
    for (const { name, label, bucket = null, values } of node.columns) {
      // A newer node may tell of series that this program does not know.
      if (!isSeriesName(name)) continue;
      const key = keyOf(name, label, bucket);
      const own = this.#aligned(node.from, values);
      const column = this.#columns.get(key);
      if (column === undefined) this.#columns.set(key, { name, label, bucket, values: own });
      else column.values = column.values.map((value, point) => sumOf(name, value, own[point] ?? null));
    }
  }

  #aligned(from: number, values: Values): (number | null)[] {
    return Array.from({ length: this.length }, (_, point) => values[this.from + point - from] ?? null);
  }
}

function keyOf(name: SeriesName, label: string, bucket: number | null): string {
  return `${name} ${bucket ?? ""} ${label}`;
}

function sumOf(name: SeriesName, a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return combined(kindOf(name), a, b);
}

/**
 * Value in a histogram that the share `q` of the counted values does not exceed, with values spread evenly within each
 * bucket, as Prometheus does it. Null: nothing was counted. Values in the last bucket count as its lower end.
 * @param counts by bucket; one more than there are bounds. @param bounds upper ends, ascending. @param q 0 to 1
 */
export function quantileOf(counts: readonly number[], bounds: readonly number[], q: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let before = 0;
  for (const [bucket, upper] of bounds.entries()) {
    const count = counts[bucket] ?? 0;
    if (count > 0 && before + count >= q * total) {
      const lower = bounds[bucket - 1] ?? 0;
      return lower + (upper - lower) * ((q * total - before) / count);
    }
    before += count;
  }
  return bounds.at(-1) ?? null;
}
