import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from "prom-client";
import { ownerOfPool, shownPool } from "../domain/pool.ts";
import { SECONDS_BUCKETS } from "../domain/series/figures.ts";
import type {
  ApiMetrics,
  ByLabel,
  ExportedMetrics,
  FigureFamily,
  FigureSample,
  Metrics,
  Readings,
} from "../ports/metrics.ts";
import { FIGURES, type NamesOf, PREFIX } from "./metrics-catalogue.ts";
import { PoolHistogram } from "./pool-histogram.ts";

const BUCKETS = {
  seconds: [...SECONDS_BUCKETS],
  sizes: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000],
};
/**
 * Largest number of pools with series of their own, because clients choose pool names; all further pools share one
 * series.
 */
export const POOLS_MAX = 100;
/** The same for handlers. */
const HANDLERS_MAX = 100;

/** Gauges of the library with names of counters, which Prometheus' own check refuses. */
const MISNAMED = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/** Metric of each reading. */
const READINGS: Record<keyof Readings, NamesOf<"gauge" | "counter">> = {
  waiting: "executions_waiting",
  ready: "executions_ready",
  assigned: "executions_assigned",
  running: "executions_running",
  backlogReady: "backlog_ready",
  backlogOldestSec: "backlog_oldest_seconds",
  ownedShards: "owned_shards",
  shardEpoch: "shard_epoch",
  shardReady: "shard_ready",
  shardRunning: "shard_running",
  shardTakeovers: "shard_takeovers_total",
  workersConnected: "workers_connected",
  workersLost: "workers_lost_total",
  workerSlots: "worker_slots",
  workerStuckSlots: "worker_stuck_slots",
  logLinesDropped: "log_lines_dropped_total",
  workersWithoutAuthority: "workers_without_authority",
  storeConnectionsBusy: "store_connections_busy",
  storeConnectionsMax: "store_connections_max",
  storeWaiting: "store_waiting",
  leaseRenewals: "lease_renewals_total",
  leaseAgeSec: "lease_age_seconds",
  clusterNodes: "cluster_nodes",
  featureLevel: "feature_level",
  clusterFeatureLevel: "cluster_feature_level",
  draining: "draining",
  jobsOverdue: "jobs_overdue",
  jobsOverdueOldestSec: "jobs_overdue_oldest_seconds",
  instantsMissed: "instants_missed",
  missedLookAgeSec: "missed_look_age_seconds",
  timeZoneDataAgeSec: "time_zone_data_age_seconds",
  timeZoneDataBehind: "time_zone_data_behind",
  cutOff: "cut_off",
  unreachedNodes: "unreached_nodes",
  certificateExpiresSec: "certificate_expires_seconds",
  callersRefused: "callers_refused_total",
  httpConnections: "http_connections",
  httpBodyBytes: "http_body_bytes",
  httpRefused: "http_refused_total",
  tokenIssuerUp: "token_issuer_up",
  meshConnections: "mesh_connections",
  meshDropped: "mesh_messages_dropped_total",
  meshWaitingBytes: "mesh_waiting_bytes",
  differingNodes: "differing_nodes",
  kafkaBusUp: "kafka_bus_up",
  ingestUp: "ingest_up",
  ingestLost: "ingest_lost_total",
  ingestLagSec: "ingest_lag_seconds",
  kafkaBusMessages: "kafka_bus_messages_total",
  kafkaBusRefused: "kafka_bus_refused_total",
  redisUp: "redis_up",
  redisFailures: "redis_failures_total",
  redisStoreInfo: "redis_store_info",
  redisStoreRole: "redis_store_role",
  redisStoreUsedBytes: "redis_store_used_bytes",
  redisStoreMaxBytes: "redis_store_max_bytes",
  redisStoreRefusalShare: "redis_store_refusal_share",
  redisStoreReplicas: "redis_store_replicas",
  redisStoreReplicasRequired: "redis_store_replicas_required",
  redisStoreReplicaLagBytes: "redis_store_replica_lag_bytes",
  redisStoreGeneration: "redis_store_generation",
  redisStoreHistoryRows: "redis_store_history_rows",
  eventsDelivered: "events_delivered_total",
  eventGaps: "event_gaps_total",
  eventSinkLagSec: "event_sink_lag_seconds",
  eventRowsDropped: "event_rows_dropped_total",
  webhookTries: "webhook_tries_total",
  webhooksDisabled: "webhooks_disabled_total",
  webhooksUnderWay: "webhooks_under_way",
};

/** Creates the metrics of this node, for Prometheus. */
export function createMetrics(): Metrics & ApiMetrics & ExportedMetrics {
  const registry = new Registry();
  // These include nodejs_eventloop_lag_*, the delay of this process.
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const instruments = createInstruments(registry);
  const poolOf = bounded(POOLS_MAX);
  const sources: (() => Readings)[] = [];
  const collect = () => {
    for (const gauge of Object.values(instruments.gauges)) forget(gauge);
    for (const read of sources) show(instruments, read(), poolOf);
  };
  const text = shared(async () => {
    collect();
    return { contentType: registry.contentType, body: await registry.metrics() };
  });
  const families = async () => {
    collect();
    return (await registry.getMetricsAsJSON()).map(familyOf);
  };
  const only = async (names: readonly string[]) => {
    collect();
    const found = names.map((name) => registry.getSingleMetric(PREFIX + name) as unknown as Readable);
    return (await Promise.all(found.map((metric) => metric.get()))).map(familyOf);
  };
  const watch = (read: () => Readings) => void sources.push(read);
  return { ...schedulerFigures(instruments, poolOf), ...apiFigures(instruments), watch, text, families, only };
}

/** A metric, as far as its values are read without those of the others. */
interface Readable {
  get(): Promise<LibraryFamily>;
}
type LibraryFamily = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number];

function familyOf({ name, help, type, values }: LibraryFamily): FigureFamily {
  const samples = values.map(({ labels, value, ...rest }) => ({
    ...("metricName" in rest && typeof rest.metricName === "string" && { name: rest.metricName }),
    labels: labels as FigureSample["labels"],
    value,
  }));
  return { name, help, type: String(type), samples };
}

/** Shares a result among callers that come while it is made, because formatting all metrics takes a millisecond. */
function shared<R>(make: () => Promise<R>): () => Promise<R> {
  let made: Promise<R> | null = null;
  return () =>
    (made ??= make().finally(() => {
      made = null;
    }));
}

function schedulerFigures(instruments: Instruments, poolOf: (name: string) => string): Omit<Metrics, "watch"> {
  const { counters, histograms, byPool } = instruments;
  const handlerOf = bounded(HANDLERS_MAX);
  return {
    commit: (figures) => {
      histograms.commit_duration_seconds.observe(figures.durationMs / 1_000);
      histograms.commit_changes.observe(figures.changes);
      counters.assigned_total.inc(figures.assigned);
    },
    lateness: (pool, latenessMs) => byPool.lateness_seconds.observe(poolOf(pool), Math.max(0, latenessMs) / 1_000),
    ran: (pool, runMs) => byPool.run_seconds.observe(poolOf(pool), Math.max(0, runMs) / 1_000),
    finished: (state, count) => counters.executions_finished_total.inc({ state }, count),
    planned: (outcome, count) => counters.planned_instants_total.inc({ outcome }, count),
    deadLetter: (pool) => counters.dead_letters_total.inc({ pool: poolOf(pool) }),
    retried: (count) => counters.attempts_retried_total.inc(count),
    failed: (handler) => counters.attempts_failed_total.inc({ handler: handlerOf(handler) }),
    refusedStale: (count) => counters.stale_results_refused_total.inc(count),
    takeover: (cause) => counters.takeovers_total.inc({ cause }),
    storeOutage: () => counters.store_outages_total.inc(),
  };
}

function apiFigures({ counters, histograms }: Instruments): Omit<ApiMetrics, "text"> {
  return {
    request: ({ method, route, status, durationMs }) => {
      const labels = { method, route, status: String(status) };
      histograms.http_request_duration_seconds.observe(labels, durationMs / 1_000);
    },
    submitted: (count) => counters.jobs_submitted_total.inc(count),
    requestsEnded: ({ takenIn, refused }) => {
      counters.requests_ended_total.inc({ state: "TAKEN_IN" }, takenIn);
      counters.requests_ended_total.inc({ state: "REFUSED" }, refused);
    },
    submitCommit: ({ durationMs, jobs }) => {
      histograms.submit_commit_duration_seconds.observe(durationMs / 1_000);
      histograms.submit_commit_jobs.observe(jobs);
    },
    storeOutage: () => counters.store_outages_total.inc(),
  };
}

/** Histograms that observe every job. */
type ByPoolName = "lateness_seconds" | "run_seconds";

interface Instruments {
  counters: Record<NamesOf<"counter">, Counter>;
  gauges: Record<NamesOf<"gauge">, Gauge>;
  histograms: Record<Exclude<NamesOf<"histogram">, ByPoolName>, Histogram>;
  byPool: Record<ByPoolName, PoolHistogram>;
}

function createInstruments(registry: Registry): Instruments {
  const made = { counters: {}, gauges: {}, histograms: {}, byPool: {} } as Record<string, Record<string, unknown>>;
  const add = (group: string, name: string, metric: unknown) => {
    Object.assign(made[group] ?? {}, { [name]: metric });
    registry.registerMetric(metric as Metric);
  };
  for (const [name, { type, labels, help, ...rest }] of Object.entries(FIGURES)) {
    const options = { name: PREFIX + name, help, labelNames: [...labels], registers: [] };
    if (type === "counter") add("counters", name, new Counter(options));
    else if (type === "gauge") add("gauges", name, new Gauge(options));
    else if (!("unit" in rest)) continue;
    else if (labels.some((label) => label === "pool")) {
      add("byPool", name, new PoolHistogram(options.name, help, BUCKETS[rest.unit]));
    } else add("histograms", name, new Histogram({ ...options, buckets: BUCKETS[rest.unit] }));
  }
  return made as unknown as Instruments;
}

/** Takes all values from a gauge. The library would keep a 0 for a gauge without labels of which no reading tells. */
function forget(gauge: Gauge): void {
  gauge.reset();
  if ("labelNames" in gauge && (gauge.labelNames as string[]).length === 0) gauge.remove();
}

/** Replaces the shown readings by new ones, so that a pool without work has no series. */
function show({ counters, gauges }: Instruments, readings: Readings, poolOf: (name: string) => string): void {
  for (const [key, value] of Object.entries(readings) as [keyof Readings, number | ByLabel][]) {
    const name = READINGS[key];
    const instrument = name in gauges ? gauges[name as NamesOf<"gauge">] : counters[name as NamesOf<"counter">];
    instrument.reset();
    const [label] = FIGURES[name].labels;
    if (typeof value === "number") instrument.inc(value);
    else if (label !== undefined) {
      for (const [of, count] of value) instrument.inc({ [label]: label === "pool" ? poolOf(of) : of }, count);
    }
  }
}

/** Returns the names of the first `max` pools or handlers, pools of tenants with their owners; every further name becomes "other". */
function bounded(max: number): (name: string) => string {
  const known = new Set<string>();
  return (stored) => {
    const owner = ownerOfPool(stored);
    // No pool has this character in its name, so an owned pool shares its series with no other.
    const name = owner === null ? stored : `${owner}~${shownPool(stored)}`;
    if (known.has(name)) return name;
    if (known.size >= max) return "other";
    known.add(name);
    return name;
  };
}
