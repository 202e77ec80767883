/** A panel with the queries of PromQL that it shows, each with the legend of its series. */
export interface PanelPlan {
  title: string;
  /** Meaning of the panel, and the sign of trouble in it. */
  about: string;
  unit: "short" | "s" | "reqps" | "ops" | "bytes" | "percentunit";
  queries: readonly (readonly [expr: string, legend: string])[];
}

export interface DashboardPlan {
  name: string;
  title: string;
  /** Whether the reader chooses pools. */
  hasPools?: boolean;
  panels: readonly PanelPlan[];
}

/** Condition that every metric has: the cluster that the reader has chosen. */
export const OF = 'cluster=~"$cluster"';
export const IN_POOL = `${OF}, pool=~"$pool"`;

export const rate = (metric: string, of = OF) => `rate(${metric}{${of}}[$__rate_interval])`;
export const sum = (expr: string, by?: string) => (by === undefined ? `sum(${expr})` : `sum by (${by}) (${expr})`);
export const quantile = (share: number, metric: string, by: string, of = OF) =>
  `histogram_quantile(${share}, sum by (${by}le) (${rate(`${metric}_bucket`, of)}))`;
export const gauge = (metric: string, of = OF) => `${metric}{${of}}`;
/** Median and 99th percentile of a histogram of all nodes. */
export const quantiles = (metric: string) =>
  [
    [quantile(0.5, metric, ""), "p50"],
    [quantile(0.99, metric, ""), "p99"],
  ] as const;
