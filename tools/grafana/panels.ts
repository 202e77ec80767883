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
const OF = 'cluster=~"$cluster"';
const IN_POOL = `${OF}, pool=~"$pool"`;

const rate = (metric: string, of = OF) => `rate(${metric}{${of}}[$__rate_interval])`;
const sum = (expr: string, by?: string) => (by === undefined ? `sum(${expr})` : `sum by (${by}) (${expr})`);
const quantile = (share: number, metric: string, by: string, of = OF) =>
  `histogram_quantile(${share}, sum by (${by}le) (${rate(`${metric}_bucket`, of)}))`;
const gauge = (metric: string, of = OF) => `${metric}{${of}}`;
/** Median and 99th percentile of a histogram of all nodes. */
const quantiles = (metric: string) =>
  [
    [quantile(0.5, metric, ""), "p50"],
    [quantile(0.99, metric, ""), "p99"],
  ] as const;

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
  {
    name: "cluster",
    title: "Mainspring: cluster",
    panels: [
      {
        title: "Owned shards",
        about: "By node; 64 together. Work of a shard without an owner waits.",
        unit: "short",
        queries: [[sum(gauge("mainspring_owned_shards"), "instance"), "{{instance}}"]],
      },
      {
        title: "Takeovers",
        about: "Times that a node took its shards over anew, by cause, and takeovers of single shards.",
        unit: "ops",
        queries: [
          [sum(rate("mainspring_takeovers_total"), "cause"), "{{cause}}"],
          [sum(rate("mainspring_shard_takeovers_total")), "single shards"],
        ],
      },
      {
        title: "Age of the lease",
        about: "Time since the last good renewal began. At 3 s a node owns nothing any more.",
        unit: "s",
        queries: [[gauge("mainspring_lease_age_seconds"), "{{instance}}"]],
      },
      {
        title: "Renewals of leases",
        about: "By outcome. FAILED renewals say that the store answers late or not at all.",
        unit: "ops",
        queries: [[sum(rate("mainspring_lease_renewals_total"), "outcome"), "{{outcome}}"]],
      },
      {
        title: "Reach",
        about:
          "Nodes that take no part in the work, nodes without a link in both directions, and nodes that drain: 0 in health. Each node has a connection to every other one.",
        unit: "short",
        queries: [
          [sum(gauge("mainspring_draining")), "draining"],
          [`min(${gauge("mainspring_mesh_connections")})`, "connections of a node, at least"],
          [sum(gauge("mainspring_cut_off")), "cut off"],
          [sum(gauge("mainspring_unreached_nodes")), "unreached"],
        ],
      },
      {
        title: "Messages between nodes",
        about: "Messages that were dropped, because the other node is not reachable or reads too slowly.",
        unit: "ops",
        queries: [[sum(rate("mainspring_mesh_messages_dropped_total"), "instance"), "dropped by {{instance}}"]],
      },
      {
        title: "Feature levels",
        about: "Level of the cluster and of its nodes. They differ while an upgrade is under way.",
        unit: "short",
        queries: [
          [`min(${gauge("mainspring_cluster_feature_level")})`, "cluster"],
          [gauge("mainspring_feature_level"), "{{instance}}"],
        ],
      },
      {
        title: "CPU",
        about: "Cores that each node uses. A node uses little more than one.",
        unit: "short",
        queries: [[rate("process_cpu_seconds_total"), "{{instance}}"]],
      },
      {
        title: "Memory",
        about: "Memory of each node's process.",
        unit: "bytes",
        queries: [[gauge("process_resident_memory_bytes"), "{{instance}}"]],
      },
      {
        title: "Lag of the event loop",
        about: "99th percentile since the last scrape. Above 0.5 s a node is overloaded.",
        unit: "s",
        queries: [[gauge("nodejs_eventloop_lag_p99_seconds"), "{{instance}}"]],
      },
    ],
  },
  {
    name: "workers",
    title: "Mainspring: workers",
    panels: [
      {
        title: "Connected workers",
        about: "By the node of their gateway.",
        unit: "short",
        queries: [[gauge("mainspring_workers_connected"), "{{instance}}"]],
      },
      {
        title: "Lost workers",
        about: "Workers that were declared lost, whose attempts run again elsewhere.",
        unit: "ops",
        queries: [[sum(rate("mainspring_workers_lost_total")), "workers"]],
      },
      {
        title: "Assigned attempts",
        about: "By the node that owns the executions.",
        unit: "ops",
        queries: [[sum(rate("mainspring_assigned_total"), "instance"), "{{instance}}"]],
      },
      {
        title: "Executions at workers",
        about: "Executions that a worker has, and those of them that run.",
        unit: "short",
        queries: [
          [sum(gauge("mainspring_executions_assigned"), "pool"), "assigned {{pool}}"],
          [sum(gauge("mainspring_executions_running"), "pool"), "running {{pool}}"],
        ],
      },
      {
        title: "Stuck slots",
        about: "Slots whose handlers still run although their attempts are over.",
        unit: "short",
        queries: [[sum(gauge("mainspring_worker_stuck_slots"), "pool"), "{{pool}}"]],
      },
      {
        title: "Workers of the release before",
        about: "Upgrade them: they cannot say what they hold.",
        unit: "short",
        queries: [[sum(gauge("mainspring_workers_without_authority")), "workers"]],
      },
      {
        title: "Dropped log lines",
        about: "Lines of handlers that the store did not take in time.",
        unit: "ops",
        queries: [[sum(rate("mainspring_log_lines_dropped_total")), "lines"]],
      },
    ],
  },
  {
    name: "store",
    title: "Mainspring: store and events",
    panels: [
      {
        title: "Duration of commits",
        about: "Commits of transitions. Above a second the store is the bottleneck.",
        unit: "s",
        queries: quantiles("mainspring_commit_duration_seconds"),
      },
      {
        title: "Rows of a commit",
        about: "Commits grow with the load: more rows, and no more commits.",
        unit: "short",
        queries: quantiles("mainspring_commit_changes"),
      },
      {
        title: "Commits",
        about: "Of transitions and of submits.",
        unit: "ops",
        queries: [
          [sum(rate("mainspring_commit_duration_seconds_count")), "transitions"],
          [sum(rate("mainspring_submit_commit_duration_seconds_count")), "submits"],
        ],
      },
      {
        title: "Duration of commits of submits",
        about: "Commits of groups of submits.",
        unit: "s",
        queries: quantiles("mainspring_submit_commit_duration_seconds"),
      },
      {
        title: "Busy connections",
        about: "Share of the connections to the store that are in use, by their purpose.",
        unit: "percentunit",
        queries: [
          [
            `${sum(gauge("mainspring_store_connections_busy"), "purpose")} / ${sum(gauge("mainspring_store_connections_max"), "purpose")}`,
            "{{purpose}}",
          ],
        ],
      },
      {
        title: "Requests that wait for a connection",
        about: "By the purpose of the connection. The store does not keep up if it stays above 0.",
        unit: "short",
        queries: [[sum(gauge("mainspring_store_waiting"), "purpose"), "{{purpose}}"]],
      },
      {
        title: "Writes without an answer",
        about: "Writes that the store did not answer.",
        unit: "ops",
        queries: [[sum(rate("mainspring_store_outages_total")), "writes"]],
      },
      {
        title: "Events that reach receivers",
        about: "Lifecycle events by their receiver.",
        unit: "ops",
        queries: [[sum(rate("mainspring_events_delivered_total"), "sink"), "{{sink}}"]],
      },
      {
        title: "Lag of receivers of events",
        about: "Age of the oldest event that a receiver does not have.",
        unit: "s",
        queries: [[`max by (sink) (${gauge("mainspring_event_sink_lag_seconds")})`, "{{sink}}"]],
      },
      {
        title: "Lost events",
        about: "Gaps that receivers were told of, and rows of events that were removed for their space. 0 in health.",
        unit: "ops",
        queries: [
          [sum(rate("mainspring_event_gaps_total"), "sink"), "gaps of {{sink}}"],
          [sum(rate("mainspring_event_rows_dropped_total")), "removed rows"],
        ],
      },
    ],
  },
];
