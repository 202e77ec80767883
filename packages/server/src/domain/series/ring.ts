import {
  combined,
  kindOf,
  LABELS_MAX,
  labelOf,
  OTHER,
  POINTS,
  type SeriesLabel,
  type SeriesName,
  type SeriesValue,
  type ToldSeries,
} from "./figures.ts";

interface Column extends Omit<SeriesValue, "value"> {
  /** Value by place in the ring; NaN: none. */
  values: Float64Array;
  /** Number of the last point with a value. */
  lastUsed: number;
}

/**
 * The last hour of one node's series, in bounded memory: an array of an hour for each series, label and bucket. A column
 * without a value for an hour is dropped, and so its label makes room for another one.
 */
export class SeriesRing {
  readonly #columns = new Map<string, Column>();
  /** Values of labels that have columns, without `other`. All series with the same label share them. */
  readonly #labels = new Map<SeriesLabel, Set<string>>();
  /** Living nodes by place in the ring; NaN: no point. */
  readonly #nodes = new Float64Array(POINTS).fill(Number.NaN);
  /** Number of the newest point; null: there is none. */
  #newest: number | null = null;

  /**
   * Adds a point. Points between it and the one before stay empty: the node did not sample then. If the clock has gone
   * back, the points from there on are dropped, because they lie in its future.
   * @param point number of the point since 1970, in units of `POINT_MS`. @param nodes living nodes that the node sees
   */
  add(point: number, nodes: number, values: Iterable<SeriesValue>): void {
    this.#clearUpTo(point);
    this.#nodes[placeOf(point)] = nodes;
    for (const value of values) {
      const { name, label, bucket } = value;
      const column = this.#column(name, label, bucket, point);
      const had = column.values[placeOf(point)] as number;
      column.values[placeOf(point)] = Number.isNaN(had) ? value.value : combined(kindOf(name), had, value.value);
      column.lastUsed = point;
    }
  }

  /** The points `from` to `until`, without `until`, as far as an hour reaches. */
  told(from: number, until: number): ToldSeries {
    const points = pointsOf(from, until);
    const isKept = (point: number) => this.#newest !== null && point <= this.#newest && point > this.#newest - POINTS;
    const at = (values: Float64Array) =>
      points.map((point) => (isKept(point) ? known(values[placeOf(point)] as number) : null));
    const columns = [...this.#columns.values()]
      .map(({ values, name, label, bucket }) => {
        return { name, label, ...(bucket !== undefined && { bucket }), values: at(values) };
      })
      .filter(({ values }) => values.some((value) => value !== null));
    return { from: points[0] ?? from, nodes: at(this.#nodes), columns };
  }

  /** Bytes of the arrays. */
  get bytes(): number {
    return (this.#columns.size + 1) * POINTS * Float64Array.BYTES_PER_ELEMENT;
  }

  /** Empties the places of the points after the newest one up to `point`, or those from `point` on if the clock went back. */
  #clearUpTo(point: number): void {
    const newest = this.#newest ?? point - 1;
    const [first, last] = point > newest ? [newest + 1, point] : [point, newest];
    const emptied = Math.min(last - first + 1, POINTS);
    for (let done = 0; done < emptied; done++) {
      const place = placeOf(last - done);
      this.#nodes[place] = Number.NaN;
      for (const { values } of this.#columns.values()) values[place] = Number.NaN;
    }
    this.#newest = point;
    this.#dropUnused(point);
  }

  #dropUnused(point: number): void {
    this.#labels.clear();
    for (const [key, column] of this.#columns) {
      // After a step back of the clock, the last use may lie in the future.
      column.lastUsed = Math.min(column.lastUsed, point);
      if (point - column.lastUsed >= POINTS) this.#columns.delete(key);
      else if (column.label !== OTHER) this.#labelsOf(labelOf(column.name)).add(column.label);
    }
  }

  #labelsOf(label: SeriesLabel): Set<string> {
    let labels = this.#labels.get(label);
    if (labels === undefined) {
      labels = new Set();
      this.#labels.set(label, labels);
    }
    return labels;
  }

  #column(name: SeriesName, wanted: string, bucket: number | undefined, point: number): Column {
    const label = this.#placed(name, wanted);
    const key = `${name} ${bucket ?? ""} ${label}`;
    let column = this.#columns.get(key);
    if (column === undefined) {
      const values = new Float64Array(POINTS).fill(Number.NaN);
      column = { name, label, ...(bucket !== undefined && { bucket }), values, lastUsed: point };
      this.#columns.set(key, column);
    }
    return column;
  }

  /** The value of a label itself, or `other` if as many others have columns. */
  #placed(name: SeriesName, wanted: string): string {
    const kind = labelOf(name);
    if (kind === null || wanted === OTHER) return wanted;
    const labels = this.#labelsOf(kind);
    if (!labels.has(wanted) && labels.size >= LABELS_MAX) return OTHER;
    labels.add(wanted);
    return wanted;
  }
}

function placeOf(point: number): number {
  return ((point % POINTS) + POINTS) % POINTS;
}

/** Numbers of points of at most an hour; an hour before `until` if `from` is earlier. */
function pointsOf(from: number, until: number): number[] {
  const first = Math.max(from, until - POINTS);
  return Array.from({ length: Math.max(0, until - first) }, (_, place) => first + place);
}

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
