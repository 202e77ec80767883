import { type DashboardPlan, gauge, IN_POOL, OF, type PanelPlan, quantile, quantiles, rate, sum } from "./plan.ts";
import { SYSTEM_DASHBOARDS } from "./system-panels.ts";

const LATENESS: PanelPlan = {
  title: "Lateness",
  about: "Time from the planned time to the first start. It grows where workers or servers do not keep up.",
  unit: "s",
  queries: quantiles("mainspring_lateness_seconds"),
};
const FINISHED: PanelPlan = {
  title: "Executions that ended",
  about: "By their final state. DEAD executions have used up their attempts.",
  unit: "ops",
  queries: [[sum(rate("mainspring_executions_finished_total"), "state"), "{{state}}"]],
};

export const DASHBOARDS: readonly DashboardPlan[] = [
  {
    name: "overview",
    title: "Mainspring: overview",
    panels: [
      FINISHED,
      {
        title: "Jobs submitted",
        about: "Jobs that the servers have written.",
        unit: "ops",
        queries: [[sum(rate("mainspring_jobs_submitted_total")), "jobs"]],
      },
      {
        title: "Requests of applications",
        about: "Requests by mainspring_submit that were taken in or refused.",
        unit: "ops",
        queries: [[sum(rate("mainspring_requests_ended_total"), "state"), "{{state}}"]],
      },
      LATENESS,
      {
        title: "Work under way",
        about:
          "Executions that wait in the store, that a worker has, and that run. Work that waits while nothing runs has no worker.",
        unit: "short",
        queries: [
          ['sum(max by (pool) (mainspring_backlog_ready{cluster=~"$cluster"}))', "ready"],
          [sum(gauge("mainspring_executions_assigned")), "assigned"],
          [sum(gauge("mainspring_executions_running")), "running"],
        ],
      },
      {
        title: "Dead letters",
        about: "Executions that became DEAD in the last hour, by pool.",
        unit: "short",
        queries: [[`sum by (pool) (increase(mainspring_dead_letters_total{${OF}}[1h]))`, "{{pool}}"]],
      },
      {
        title: "Nodes and workers",
        about: "Living nodes, and workers with a connection.",
        unit: "short",
        queries: [
          [`max(${gauge("mainspring_cluster_nodes")})`, "nodes"],
          [sum(gauge("mainspring_workers_connected")), "workers"],
        ],
      },
      {
        title: "Requests of the API",
        about: "By status. Answers with 5xx say that the store or the node is in trouble.",
        unit: "reqps",
        queries: [[sum(rate("mainspring_http_request_duration_seconds_count"), "status"), "{{status}}"]],
      },
      {
        title: "Duration of requests",
        about: "Waits for the end of an execution count, too.",
        unit: "s",
        queries: [[quantile(0.99, "mainspring_http_request_duration_seconds", "route, "), "p99 {{route}}"]],
      },
    ],
  },
  {
    name: "pool",
    title: "Mainspring: pools",
    hasPools: true,
    panels: [
      {
        title: "Lateness",
        about: "99th percentile of the time from the planned time to the first start.",
        unit: "s",
        queries: [[quantile(0.99, "mainspring_lateness_seconds", "pool, ", IN_POOL), "{{pool}}"]],
      },
      {
        title: "Duration of attempts",
        about: "Median and 99th percentile, however the attempts ended.",
        unit: "s",
        queries: [
          [quantile(0.5, "mainspring_run_seconds", "pool, ", IN_POOL), "p50 {{pool}}"],
          [quantile(0.99, "mainspring_run_seconds", "pool, ", IN_POOL), "p99 {{pool}}"],
        ],
      },
      {
        title: "Attempts that ended",
        about: "Successful or not.",
        unit: "ops",
        queries: [[sum(rate("mainspring_run_seconds_count", IN_POOL), "pool"), "{{pool}}"]],
      },
      {
        title: "Ready executions in the store",
        about: "The store is looked at every 30 s; 100,000 stands for more.",
        unit: "short",
        queries: [[`max by (pool) (${gauge("mainspring_backlog_ready", IN_POOL)})`, "{{pool}}"]],
      },
      {
        title: "Age of the oldest ready execution",
        about: "Time since the oldest of the executions that are next was due.",
        unit: "s",
        queries: [[`max by (pool) (${gauge("mainspring_backlog_oldest_seconds", IN_POOL)})`, "{{pool}}"]],
      },
      {
        title: "Executions at workers",
        about: "Executions that the owners will assign next, that a worker has, and that run.",
        unit: "short",
        queries: [
          [sum(gauge("mainspring_executions_ready", IN_POOL), "pool"), "next {{pool}}"],
          [sum(gauge("mainspring_executions_assigned", IN_POOL), "pool"), "assigned {{pool}}"],
          [sum(gauge("mainspring_executions_running", IN_POOL), "pool"), "running {{pool}}"],
        ],
      },
      {
        title: "Dead letters",
        about: "Executions that became DEAD in the last hour.",
        unit: "short",
        queries: [[`sum by (pool) (increase(mainspring_dead_letters_total{${IN_POOL}}[1h]))`, "{{pool}}"]],
      },
      {
        title: "Stuck slots",
        about: "Slots whose handlers still run although their attempts are over.",
        unit: "short",
        queries: [[sum(gauge("mainspring_worker_stuck_slots", IN_POOL), "pool"), "{{pool}}"]],
      },
    ],
  },
  {
    name: "job",
    title: "Mainspring: jobs and attempts",
    panels: [
      {
        title: "Planned instants of recurring jobs",
        about: "By what became of them. LATE and MISFIRE say that instants passed while nothing could run.",
        unit: "ops",
        queries: [[sum(rate("mainspring_planned_instants_total"), "outcome"), "{{outcome}}"]],
      },
      {
        title: "Overdue recurring jobs",
        about: "Recurring jobs with an instant that nothing has accounted for. The figure is 0 in health.",
        unit: "short",
        queries: [[`max(${gauge("mainspring_jobs_overdue")})`, "jobs"]],
      },
      {
        title: "Age of the earliest overdue instant",
        about: "0 in health.",
        unit: "s",
        queries: [[`max(${gauge("mainspring_jobs_overdue_oldest_seconds")})`, "age"]],
      },
      {
        title: "Missed instants of the last day",
        about: "Planned instants without an execution or a reason in the ledger. 0 in health.",
        unit: "short",
        queries: [[`max(${gauge("mainspring_instants_missed")})`, "instants"]],
      },
      FINISHED,
      {
        title: "Attempts",
        about: "Attempts that were assigned, that are tried again, and results of older attempts that were refused.",
        unit: "ops",
        queries: [
          [sum(rate("mainspring_assigned_total")), "assigned"],
          [sum(rate("mainspring_attempts_retried_total")), "tried again"],
          [sum(rate("mainspring_stale_results_refused_total")), "refused"],
        ],
      },
      {
        title: "Age of the time zone data",
        about: "Time since the release of the data by which jobs are planned.",
        unit: "s",
        queries: [[`max by (version) (${gauge("mainspring_time_zone_data_age_seconds")})`, "{{version}}"]],
      },
      {
        title: "Nodes with newer time zone data",
        about: "Nodes that bring newer data than is in force. 0 after an upgrade.",
        unit: "short",
        queries: [[sum(gauge("mainspring_time_zone_data_behind")), "nodes"]],
      },
      {
        title: "Age of the search for missed instants",
        about: "Time since all recurring jobs were searched. It is below two hours in health.",
        unit: "s",
        queries: [[`min(${gauge("mainspring_missed_look_age_seconds")})`, "age"]],
      },
      {
        title: "Webhooks",
        about:
          "Tries of deliveries by their outcome, and webhooks that were disabled because nothing was delivered for days.",
        unit: "ops",
        queries: [
          [sum(rate("mainspring_webhook_tries_total"), "outcome"), "{{outcome}}"],
          [sum(rate("mainspring_webhooks_disabled_total")), "disabled"],
        ],
      },
    ],
  },
  ...SYSTEM_DASHBOARDS,
];
