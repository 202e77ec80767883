import type { SeriesBody } from "@mainspring/contract";
import { FINAL_STATES } from "../../domain/execution.ts";
import { ALERT_RULES } from "../../domain/series/alert-rules.ts";
import { type Alert, judged } from "../../domain/series/alerts.ts";
import { labelOf, POINT_MS, SECONDS_BUCKETS, type SeriesName } from "../../domain/series/figures.ts";
import { type MergedSeries, quantileOf, type Values } from "../../domain/series/merge.ts";
import { formatInstant } from "../http/instants.ts";
import type { GatheredSeries } from "./gather-series.ts";

/** End of the owner in the name of a pool among figures. Names of pools do not have this character. */
const OWNER_END = "~";
/** Pools by any of these figures. */
const BY_POOL: readonly SeriesName[] = [
  "backlog_ready",
  "backlog_oldest_seconds",
  "executions_running",
  "worker_slots",
  "dead_letters_total",
];

/** Answer of GET /v1/series. */
export function viewSeries({ cluster, nodes, silent }: GatheredSeries): SeriesBody {
  const series = (name: SeriesName, label?: string) => [...cluster.values(name, label)];
  const lateness = latenessOf(cluster);
  const quantileMs = (q: number) => lateness.map((counts) => counts && inMs(quantileOf(counts, SECONDS_BUCKETS, q)));
  return {
    from: formatInstant(cluster.startOf(0)),
    stepSec: POINT_MS / 1_000,
    nodes: [...cluster.told],
    missing: [...cluster.missing],
    silent,
    finished: FINAL_STATES.map((state) => ({ state, counts: series("executions_finished_total", state) })),
    starts: lateness.map((counts) => counts && counts.reduce((sum, count) => sum + count, 0)),
    p50Ms: quantileMs(0.5),
    p99Ms: quantileMs(0.99),
    retried: series("attempts_retried_total"),
    failures: cluster.labels("attempts_failed_total").map((handler) => {
      return { handler, counts: series("attempts_failed_total", handler) };
    }),
    pools: poolsOf(cluster),
    deadLetters: summed(cluster, "dead_letters_total"),
    workers: series("workers_connected"),
    slots: summed(cluster, "worker_slots"),
    running: summed(cluster, "executions_running"),
    recurring: {
      late: series("planned_instants_total", "LATE"),
      overdue: series("jobs_overdue"),
      missed: series("instants_missed"),
    },
    loopLagMs: series("event_loop_lag_seconds").map(inMs),
    alerts: judged(ALERT_RULES, cluster, nodes).map(alertBody),
  };
}

function poolsOf(cluster: MergedSeries): SeriesBody["pools"] {
  const names = [...new Set(BY_POOL.flatMap((name) => cluster.labels(name)))].sort();
  return names.map((name) => ({
    ...poolNamed(name),
    ready: [...cluster.values("backlog_ready", name)],
    oldestSec: [...cluster.values("backlog_oldest_seconds", name)],
    running: [...cluster.values("executions_running", name)],
    slots: [...cluster.values("worker_slots", name)],
    deadLetters: [...cluster.values("dead_letters_total", name)],
  }));
}

/** Pool and owner of the name that figures have for a pool. */
function poolNamed(name: string): { pool: string; owner: string | null } {
  const end = name.indexOf(OWNER_END);
  return end === -1 ? { pool: name, owner: null } : { pool: name.slice(end + 1), owner: name.slice(0, end) };
}

/** Values of all labels of a series together. */
function summed(cluster: MergedSeries, name: SeriesName): (number | null)[] {
  const all = cluster.labels(name).map((label) => cluster.values(name, label));
  return cluster.told.map((told, point) =>
    told === 0 ? null : all.reduce((sum, values) => sum + (values[point] ?? 0), 0),
  );
}

/** Starts of all pools by bucket, at each point; null: nobody told of the point. */
function latenessOf(cluster: MergedSeries): (number[] | null)[] {
  const pools = cluster
    .labels("lateness_seconds")
    .map((pool) => cluster.histogram("lateness_seconds", pool, SECONDS_BUCKETS.length + 1));
  const ofBucket = (all: readonly Values[][], bucket: number, point: number) =>
    all.reduce((sum, buckets) => sum + (buckets[bucket]?.[point] ?? 0), 0);
  return cluster.told.map((told, point) => {
    if (told === 0) return null;
    return Array.from({ length: SECONDS_BUCKETS.length + 1 }, (_, bucket) => ofBucket(pools, bucket, point));
  });
}

function inMs(sec: number | null): number | null {
  return sec === null ? null : Math.round(sec * 1_000);
}

function alertBody({ rule, label, node, since, value }: Alert): SeriesBody["alerts"][number] {
  const isOfPool = rule.by !== undefined && labelOf(rule.by) === "pool";
  const pool = isOfPool && label !== null ? poolNamed(label) : null;
  const shown = pool === null ? (label ?? "") : pool.pool;
  return {
    name: rule.name,
    severity: rule.severity,
    since: formatInstant(since),
    summary: rule.says(value, shown),
    pool: pool?.pool ?? null,
    poolOwner: pool?.owner ?? null,
    node,
    runbook: rule.runbook,
  };
}
