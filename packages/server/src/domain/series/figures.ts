/** Length of a point of the series in milliseconds. Points begin at multiples of it, so those of all nodes coincide. */
export const POINT_MS = 10_000;
/** Number of points that a node keeps: an hour. */
export const POINTS = 360;
/** Largest number of values of one label with columns of their own. All further values share the column `other`. */
export const LABELS_MAX = 20;
export const OTHER = "other";
/** Upper bound of the columns of a node, which is above what the table of series and `LABELS_MAX` allow. */
export const SERIES_COLUMNS_MAX = 1_000;

/** Upper ends of the buckets of durations, in seconds. One more bucket is for longer durations. */
export const SECONDS_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800,
] as const;

/**
 * Meaning of the values of a series, and the way to merge those of several nodes. COUNT: growth within the point, added
 * up. HISTOGRAM: the same, by bucket. SUM: level of one node, added up. MAX: level of the whole cluster, or the worst
 * node's.
 */
export type SeriesKind = "COUNT" | "HISTOGRAM" | "SUM" | "MAX";

/** Label of a series; null: the series has none. */
export type SeriesLabel = "pool" | "handler" | "state" | "outcome" | "cause" | "purpose" | "reason" | "sink" | null;

/**
 * Figures of `/metrics` whose last hour each node keeps, by their names there without the prefix. A counter with a label
 * that this table leaves out is added up over that label.
 */
export const SERIES = {
  executions_finished_total: { kind: "COUNT", label: "state" },
  lateness_seconds: { kind: "HISTOGRAM", label: "pool" },
  attempts_failed_total: { kind: "COUNT", label: "handler" },
  attempts_retried_total: { kind: "COUNT", label: null },
  assigned_total: { kind: "COUNT", label: null },
  dead_letters_total: { kind: "COUNT", label: "pool" },
  stale_results_refused_total: { kind: "COUNT", label: null },
  planned_instants_total: { kind: "COUNT", label: "outcome" },
  executions_ready: { kind: "SUM", label: "pool" },
  executions_running: { kind: "SUM", label: "pool" },
  backlog_ready: { kind: "MAX", label: "pool" },
  backlog_oldest_seconds: { kind: "MAX", label: "pool" },
  worker_slots: { kind: "SUM", label: "pool" },
  worker_stuck_slots: { kind: "SUM", label: "pool" },
  workers_connected: { kind: "SUM", label: null },
  workers_lost_total: { kind: "COUNT", label: null },
  log_lines_dropped_total: { kind: "COUNT", label: null },
  jobs_overdue: { kind: "MAX", label: null },
  instants_missed: { kind: "MAX", label: null },
  missed_look_age_seconds: { kind: "MAX", label: null },
  store_outages_total: { kind: "COUNT", label: null },
  store_waiting: { kind: "MAX", label: "purpose" },
  commit_duration_seconds: { kind: "HISTOGRAM", label: null },
  cluster_nodes: { kind: "MAX", label: null },
  owned_shards: { kind: "SUM", label: null },
  takeovers_total: { kind: "COUNT", label: "cause" },
  shard_takeovers_total: { kind: "COUNT", label: null },
  lease_age_seconds: { kind: "MAX", label: null },
  lease_renewals_total: { kind: "COUNT", label: "outcome" },
  mesh_connections: { kind: "SUM", label: null },
  mesh_messages_dropped_total: { kind: "COUNT", label: null },
  cut_off: { kind: "MAX", label: null },
  differing_nodes: { kind: "MAX", label: null },
  certificate_expires_seconds: { kind: "MAX", label: null },
  callers_refused_total: { kind: "COUNT", label: "reason" },
  kafka_bus_up: { kind: "SUM", label: null },
  kafka_bus_refused_total: { kind: "COUNT", label: null },
  token_issuer_up: { kind: "SUM", label: null },
  redis_up: { kind: "SUM", label: null },
  redis_store_used_bytes: { kind: "MAX", label: null },
  redis_store_max_bytes: { kind: "MAX", label: null },
  redis_store_replicas: { kind: "MAX", label: null },
  redis_store_replicas_required: { kind: "MAX", label: null },
  ingest_up: { kind: "SUM", label: null },
  ingest_lag_seconds: { kind: "MAX", label: null },
  ingest_lost_total: { kind: "COUNT", label: null },
  requests_ended_total: { kind: "COUNT", label: "state" },
  event_sink_lag_seconds: { kind: "MAX", label: "sink" },
  event_rows_dropped_total: { kind: "COUNT", label: null },
  event_gaps_total: { kind: "COUNT", label: null },
  webhooks_disabled_total: { kind: "COUNT", label: null },
} as const satisfies Record<string, { kind: SeriesKind; label: SeriesLabel }>;

/** `event_loop_lag_seconds`: 99th percentile of the delay of the node's event loop within the point. */
export type SeriesName = keyof typeof SERIES | "event_loop_lag_seconds";
export const SERIES_NAMES = Object.keys(SERIES) as (keyof typeof SERIES)[];

export function kindOf(name: SeriesName): SeriesKind {
  return name === "event_loop_lag_seconds" ? "MAX" : SERIES[name].kind;
}

export function labelOf(name: SeriesName): SeriesLabel {
  return name === "event_loop_lag_seconds" ? null : SERIES[name].label;
}

export function isSeriesName(name: string): name is SeriesName {
  return name === "event_loop_lag_seconds" || Object.hasOwn(SERIES, name);
}

/** Two values of a series as one: of two nodes, or of two values of a label that share a column. */
export function combined(kind: SeriesKind, a: number, b: number): number {
  return kind === "MAX" ? Math.max(a, b) : a + b;
}

/** One value of a point. */
export interface SeriesValue {
  name: SeriesName;
  /** Value of the label; empty: the series has none. */
  label: string;
  /** Number of the bucket of a histogram, from 0; left out: the series is none. */
  bucket?: number;
  value: number;
}

/** Values of one series, label and bucket over all points of a `ToldSeries`. null: none in that point. */
export interface SeriesColumn extends Omit<SeriesValue, "value" | "name"> {
  name: string;
  values: readonly (number | null)[];
}

/** Series of one node, as the node sends them to others. */
export interface ToldSeries {
  /** Number of the first point since 1970, in units of `POINT_MS`. */
  from: number;
  /** Living nodes that the node saw, by point, itself included; null: the node has no such point. */
  nodes: readonly (number | null)[];
  /** Columns with a value in one of the points. A COUNT or HISTOGRAM without a value did not grow. */
  columns: readonly SeriesColumn[];
}
