import type { SeriesBody } from "@mainspring/contract";

export type Values = (number | null)[];

/** Points that lack figures. NOBODY: no node told of them. SOME: nodes that lived then told nothing, so that sums would be too low. */
export interface Gap {
  kind: "NOBODY" | "SOME";
  fromMs: number;
  untilMs: number;
  /** Largest number of nodes that a point of the gap lacks; 0: not known. */
  missing: number;
}

type Points = Pick<SeriesBody, "from" | "stepSec" | "nodes" | "missing">;

/** Parts of the hour that lack figures, oldest first. */
export function gapsOf({ from, stepSec, nodes, missing }: Points): Gap[] {
  const gaps: Gap[] = [];
  const stepMs = stepSec * 1_000;
  for (const [point, told] of nodes.entries()) {
    const lacking = missing[point] ?? 0;
    if (told > 0 && lacking === 0) continue;
    const fromMs = Date.parse(from) + point * stepMs;
    const kind = told === 0 ? "NOBODY" : "SOME";
    const last = gaps.at(-1);
    if (last?.untilMs === fromMs && last.kind === kind) {
      last.untilMs = fromMs + stepMs;
      last.missing = Math.max(last.missing, lacking);
    } else gaps.push({ kind, fromMs, untilMs: fromMs + stepMs, missing: lacking });
  }
  return gaps;
}

/** Beginnings of the points in seconds since 1970. */
export function timesOf({ from, stepSec, nodes }: Points): number[] {
  return nodes.map((_, point) => Date.parse(from) / 1_000 + point * stepSec);
}

/** Shortest time that charts show, in seconds. */
const SHOWN_MIN_SEC = 600;

/** Time in seconds since 1970 from which charts show the hour: none of the nodes tells of the time before. */
export function shownFromSec(points: Points): number {
  const times = timesOf(points);
  const first = times[points.nodes.findIndex((told) => told > 0)] ?? Number.POSITIVE_INFINITY;
  return Math.max(times[0] ?? 0, Math.min(first, (times.at(-1) ?? 0) - SHOWN_MIN_SEC));
}

/** Values of the points that no node is missing from; null elsewhere. */
export function whole({ missing }: Pick<Points, "missing">, values: Values): Values {
  return values.map((value, point) => (missing[point] === 0 ? value : null));
}

/** Counts as a rate per second, where every node told. */
export function ratesOf(points: Pick<Points, "missing" | "stepSec">, counts: Values): Values {
  return whole(points, counts).map((count) => (count === null ? null : count / points.stepSec));
}

/** Sum of several series; null where all are. */
export function sumOf(all: readonly Values[]): Values {
  const [first = []] = all;
  return first.map((_, point) => {
    const known = all.flatMap((values) => values[point] ?? []);
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
  });
}

/** Sum of the values that there are. */
export function totalOf(values: Values): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

/** Newest value that there is; null: there is none. */
export function newestOf(values: Values): number | null {
  return values.findLast((value) => value !== null) ?? null;
}
