import { POINT_MS, SECONDS_BUCKETS, type SeriesName } from "./figures.ts";
import { type MergedSeries, quantileOf, type Values } from "./merge.ts";

/** PAGE needs a person now, TICKET on the next working day. */
export type AlertSeverity = "PAGE" | "TICKET";

/** A rule of `deploy/prometheus/alerts.yml` that the series of an hour can judge. */
export interface AlertRule {
  /** Name of the rule there. */
  name: string;
  severity: AlertSeverity;
  /** Section that says what to do, as a path in the repository and in the package. */
  runbook: string;
  /** Time in seconds for which the condition must have held without a break. */
  forSec: number;
  /** CLUSTER: judged by the merged series. NODE: by those of each node. */
  over: "CLUSTER" | "NODE";
  /** Series for each of whose labels the rule is judged by itself; left out: the rule knows no label. */
  by?: SeriesName;
  /** Whether points that lack a node say nothing, because sums that are too low would fulfil the condition. */
  needsAll?: true;
  /** Value that is compared; null: there is none, and the condition does not hold. */
  value(look: Look): number | null;
  above?: number;
  below?: number;
  /** Sentence for people. @param label value of the label; empty: the rule knows none */
  says(value: number, label: string): string;
}

/** An alert that would fire. */
export interface Alert {
  rule: AlertRule;
  /** Value of the rule's label; null: the rule knows none. */
  label: string | null;
  /** Node that the alert is about; null: the cluster. */
  node: string | null;
  /** Since when the condition has held, in milliseconds since 1970; the hour may not show its beginning. */
  since: number;
  value: number;
}

/** View on the series at one point, for the conditions of rules. */
export class Look {
  readonly label: string;
  readonly #series: MergedSeries;
  readonly #point: number;
  readonly #columns: Map<string, Values>;

  constructor(series: MergedSeries, label: string, point: number, columns: Map<string, Values>) {
    this.label = label;
    this.#series = series;
    this.#point = point;
    this.#columns = columns;
  }

  /** Level at the point; null: there is none. @param label default: the label that the rule is judged for */
  level(name: SeriesName, label = this.label): number | null {
    return this.#values(name, label)[this.#point] ?? null;
  }

  /** Growth within the seconds before the end of the point. */
  grown(name: SeriesName, sec: number, label = this.label): number {
    return this.#window(this.#values(name, label), sec).reduce<number>((sum, value) => sum + (value ?? 0), 0);
  }

  /** Largest level within the seconds before the end of the point; null: there is none. */
  most(name: SeriesName, sec: number): number | null {
    const levels = this.#window(this.#values(name, this.label), sec).filter((value) => value !== null);
    return levels.length === 0 ? null : Math.max(...levels);
  }

  /** Quantile of a histogram of durations over the seconds before the end of the point; null: nothing was counted. */
  quantileSec(name: SeriesName, q: number, sec: number): number | null {
    const counts = Array.from({ length: SECONDS_BUCKETS.length + 1 }, (_, bucket) =>
      this.#window(this.#values(name, this.label, bucket), sec).reduce<number>((sum, value) => sum + (value ?? 0), 0),
    );
    return quantileOf(counts, SECONDS_BUCKETS, q);
  }

  /** When the point ended, in seconds since 1970. */
  get atSec(): number {
    return (this.#series.startOf(this.#point) + POINT_MS) / 1_000;
  }

  #window(values: Values, sec: number): Values {
    return values.slice(Math.max(0, this.#point + 1 - Math.ceil((sec * 1_000) / POINT_MS)), this.#point + 1);
  }

  #values(name: SeriesName, label: string, bucket: number | null = null): Values {
    const key = `${name} ${bucket ?? ""} ${label}`;
    let values = this.#columns.get(key);
    if (values === undefined) {
      values = this.#series.values(name, label, bucket);
      this.#columns.set(key, values);
    }
    return values;
  }
}

/**
 * Alerts that would fire at the end of the series, in the order of the rules.
 * @param nodes series of each node that answered, by its name
 */
export function judged(
  rules: readonly AlertRule[],
  cluster: MergedSeries,
  nodes: ReadonlyMap<string, MergedSeries>,
): Alert[] {
  const columns = new Map<MergedSeries, Map<string, Values>>();
  const alertsOf = (rule: AlertRule, series: MergedSeries, node: string | null) => {
    const labels = rule.by === undefined ? [null] : series.labels(rule.by);
    const cache = columns.get(series) ?? new Map<string, Values>();
    columns.set(series, cache);
    return labels.flatMap((label) => alertOf(rule, series, label, cache).map((alert) => ({ ...alert, node })));
  };
  return rules.flatMap((rule) =>
    rule.over === "CLUSTER"
      ? alertsOf(rule, cluster, null)
      : [...nodes].flatMap(([node, series]) => alertsOf(rule, series, node)),
  );
}

function alertOf(
  rule: AlertRule,
  series: MergedSeries,
  label: string | null,
  columns: Map<string, Values>,
): Omit<Alert, "node">[] {
  const valueAt = (point: number) => {
    if (series.told[point] === 0 || (rule.needsAll && !series.isWhole(point))) return null;
    const value = rule.value(new Look(series, label ?? "", point, columns));
    return value !== null && holds(rule, value) ? value : null;
  };
  const last = series.length - 1;
  const value = last < 0 ? null : valueAt(last);
  if (value === null) return [];
  let first = last;
  while (first > 0 && valueAt(first - 1) !== null) first--;
  // A condition that held at two points held for the time between them.
  if ((last - first) * POINT_MS < rule.forSec * 1_000) return [];
  return [{ rule, label, since: series.startOf(first) + POINT_MS, value }];
}

function holds({ above, below }: AlertRule, value: number): boolean {
  return above === undefined ? value < (below as number) : value > above;
}
