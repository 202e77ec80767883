import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { ApiMetrics, Metrics } from "../ports/metrics.ts";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/** Pools are named by clients: beyond so many, their lateness is told in one series. */
const POOLS_MAX = 100;

const GAUGES: Record<Parameters<Metrics["gauge"]>[0], string> = {
  waiting: "Executions in memory that wait for their time",
  ready: "Executions in memory that are ready to run",
  assigned: "Executions that a worker holds",
  workers: "Workers that the scheduler knows",
  owned_shards: "Shards that this node owns",
};

/** The figures of this node, for Prometheus. */
export function createMetrics(): Metrics & ApiMetrics {
  const registry = new Registry();
  // Among them nodejs_eventloop_lag_*: how late this process is.
  collectDefaultMetrics({ register: registry });
  const text = async () => ({ contentType: registry.contentType, body: await registry.metrics() });
  return { ...schedulerFigures(registry), ...apiFigures(registry), text };
}

function schedulerFigures(registry: Registry): Omit<Metrics, "submitted" | "storeOutage"> {
  const make = maker(registry);
  const commitSeconds = make.histogram("commit_duration_seconds", "How long a commit of transitions took", SECONDS);
  const changes = make.histogram("commit_changes", "Rows that a commit of transitions changed", SIZES);
  const assigned = make.counter("assigned_total", "Attempts that were assigned to workers");
  const lateness = make.histogram("lateness_seconds", "First start minus scheduled time", SECONDS, ["pool"]);
  const finished = make.counter("executions_finished_total", "Executions that became final", ["state"]);
  const retried = make.counter("attempts_retried_total", "Attempts that failed and are tried again");
  const stale = make.counter("stale_results_refused_total", "Starts and results with an old token, refused");
  const lost = make.counter("workers_lost_total", "Workers that were declared lost");
  const takeovers = make.counter("takeovers_total", "Times the shards were taken over anew", ["reason"]);
  const poolOf = bounded(POOLS_MAX);
  return {
    commit: (figures) => {
      commitSeconds.observe(figures.durationMs / 1_000);
      changes.observe(figures.changes);
      assigned.inc(figures.assigned);
    },
    lateness: (pool, latenessMs) => lateness.observe({ pool: poolOf(pool) }, Math.max(0, latenessMs) / 1_000),
    finished: (state, count) => finished.inc({ state }, count),
    retried: (count) => retried.inc(count),
    refusedStale: (count) => stale.inc(count),
    workersLost: (count) => lost.inc(count),
    takeover: (reason) => takeovers.inc({ reason }),
    gauge: (name, read) => {
      new Gauge({
        name: `mainspring_${name}`,
        help: GAUGES[name],
        registers: [registry],
        collect() {
          this.set(read());
        },
      });
    },
  };
}

function apiFigures(registry: Registry): Omit<ApiMetrics, "text"> {
  const make = maker(registry);
  const labels = ["method", "route", "status"];
  const requests = make.histogram("http_request_duration_seconds", "How long answers took", SECONDS, labels);
  const submitted = make.counter("jobs_submitted_total", "Jobs that were written");
  const submitSeconds = make.histogram("submit_commit_duration_seconds", "How long a group commit took", SECONDS);
  const submitJobs = make.histogram("submit_commit_jobs", "Jobs of a group commit", SIZES);
  const outages = make.counter("store_outages_total", "Writes that the store did not answer");
  return {
    request: ({ method, route, status, durationMs }) => {
      requests.observe({ method, route, status: String(status) }, durationMs / 1_000);
    },
    submitted: (count) => submitted.inc(count),
    submitCommit: ({ durationMs, jobs }) => {
      submitSeconds.observe(durationMs / 1_000);
      submitJobs.observe(jobs);
    },
    storeOutage: () => outages.inc(),
  };
}

function maker(registry: Registry) {
  const registers = [registry];
  return {
    counter: (name: string, help: string, labelNames: string[] = []) =>
      new Counter({ name: `mainspring_${name}`, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
      new Histogram({ name: `mainspring_${name}`, help, buckets, labelNames, registers }),
  };
}

/** Lets the first `max` names through; every other one becomes "other". */
function bounded(max: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.has(name)) return name;
    if (known.size >= max) return "other";
    known.add(name);
    return name;
  };
}
