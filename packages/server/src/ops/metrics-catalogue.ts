/**
 * Every metric of `/metrics`, in one closed list, from which the instruments and docs/reference/metrics.md are made.
 * Names never change, because alerts and dashboards use them.
 */
export const FIGURES = {
  lateness_seconds: histogram(
    "seconds",
    ["pool"],
    "First start minus scheduled time (of a backfill: of its own), of each execution",
    {
      alert: "the 99th percentile is above what the pool's jobs can bear: add workers or slots",
    },
  ),
  run_seconds: histogram("seconds", ["pool"], "How long attempts ran, however they ended", {
    alert: "it has grown to several times of what it was: what the handlers depend on is slow",
  }),
  executions_finished_total: counter(["state"], "Executions that became final"),
  planned_instants_total: counter(
    ["outcome"],
    "Planned instants of recurring jobs, by what became of them in their time",
    {
      alert: "`LATE` or `MISFIRE` grows: instants passed while nothing could fire them; the ledger names them",
    },
  ),
  dead_letters_total: counter(["pool"], "Executions that used up their budget and became DEAD", {
    alert: "it grows: look at `GET /v1/executions?state=DEAD`",
  }),
  attempts_retried_total: counter([], "Attempts that failed and are tried again", {
    alert: "it grows faster than half of `mainspring_assigned_total`: most of the work is repeated work",
  }),
  attempts_failed_total: counter(
    ["handler"],
    "Attempts that ended as FAILED or TIMED_OUT, by handler; handlers after the first hundred are `other`",
  ),
  stale_results_refused_total: counter([], "Starts and results of attempts that were no longer current, refused", {
    alert: "it grows steadily: workers are given up that are still at work; see `mainspring_workers_lost_total`",
  }),
  executions_waiting: gauge([], "Executions that fall due within seconds"),
  executions_ready: gauge(["pool"], "Ready executions in the owner's memory; the store may have more", {
    alert: "it stays above 0 while `mainspring_executions_running` of the pool is 0: nobody can run what waits",
  }),
  backlog_ready: gauge(
    ["pool"],
    "Ready executions in the store, of the whole cluster, with those that wait at a worker for less than 30 s; looked at every 30 s; 100000 stands for more",
  ),
  backlog_oldest_seconds: gauge(
    ["pool"],
    "How long the oldest of the pool's executions that are next has been due, of the whole cluster",
    { alert: "it stays above what the pool's jobs can bear: add workers or slots" },
  ),
  executions_assigned: gauge(["pool"], "Executions that a worker was given, started or not"),
  executions_running: gauge(["pool"], "Executions that a worker has started"),
  workers_connected: gauge([], "Workers with a connection, the built-in one included", {
    alert: "it is lower than the number of workers that you run",
  }),
  workers_lost_total: counter([], "Workers that were declared lost", {
    alert: "it grows: processes are killed (memory?), or the network drops connections",
  }),
  worker_slots: gauge(["pool"], "Slots of the connected workers, the built-in one included"),
  worker_stuck_slots: gauge(["pool"], "Slots of handlers that still run although their attempts are over", {
    alert: "it stays above 0 for five minutes: a handler ignores the end of its attempt and keeps its slot",
  }),
  workers_without_authority: gauge(
    [],
    "Connected workers of the release before: they cannot say what they hold, and show no stuck slots",
    { alert: "it is above 0 for a day: upgrade these workers; the release after the next one refuses them" },
  ),
  log_lines_dropped_total: counter(
    [],
    "Log lines of handlers that were dropped because the store did not take them in time; those beyond the last 64 KiB of an attempt are not counted",
    { alert: "it grows: the store does not keep up with what handlers log, or is away" },
  ),
  owned_shards: gauge([], "Shards that this node owns, of 64", { alert: "it is 0 for longer than a minute" }),
  takeovers_total: counter(["cause"], "Times that this node dropped what it knew and took its shards over anew", {
    alert: "it grows: the log says why each time",
  }),
  shard_epoch: gauge(
    ["shard"],
    "Epoch of a shard that this node owns, the time of its takeover in microseconds: of two owners the higher one is",
  ),
  shard_ready: gauge(["shard"], "Ready executions of a shard in its owner's memory"),
  shard_running: gauge(["shard"], "Executions of a shard that a worker has started"),
  shard_takeovers_total: counter(["shard"], "Times that this node took a shard over", {
    alert:
      "the sum over all shards and nodes grows faster than a hundred in a minute, and nobody restarts nodes: they take shards from each other",
  }),
  assigned_total: counter([], "Attempts that were assigned to workers"),
  commit_duration_seconds: histogram("seconds", [], "How long a commit of transitions took", {
    alert: "the 99th percentile is above a second: the store is the bottleneck",
  }),
  commit_changes: histogram("sizes", [], "Rows that a commit of transitions changed: the size of its batch"),
  jobs_submitted_total: counter([], "Jobs that were written"),
  requests_ended_total: counter(["state"], "Requests by mainspring_submit that were taken in or refused", {
    alert: "REFUSED grows: `mainspring requests list --state REFUSED` says why",
  }),
  submit_commit_duration_seconds: histogram("seconds", [], "How long a group commit of submits took"),
  submit_commit_jobs: histogram("sizes", [], "Jobs of a group commit of submits"),
  store_outages_total: counter([], "Writes that the store did not answer", { alert: "it grows" }),
  store_connections_busy: gauge(["purpose"], "Connections to the store that are in use"),
  store_connections_max: gauge(["purpose"], "Connections to the store that there may be"),
  store_waiting: gauge(["purpose"], "Requests that wait for a connection to the store", {
    alert: "it stays above 0 for minutes: the store does not keep up",
  }),
  lease_renewals_total: counter(["outcome"], "Renewals of this node's lease: OK or FAILED", {
    alert:
      'those with `outcome="FAILED"` grow: the store, or etcd with MAINSPRING_LEASES=etcd, answers late or not at all',
  }),
  lease_age_seconds: gauge([], "Since this node began with the last renewal of its lease that went well", {
    alert: "it is above 2 in a cluster: at 3 the node owns nothing any more",
  }),
  cluster_nodes: gauge([], "Nodes whose leases stand, as this node knows it", {
    alert: "it is lower than the number of nodes that you run",
  }),
  feature_level: gauge([], "Feature level that this node's program understands"),
  cluster_feature_level: gauge([], "Feature level that every living node understands; newer features wait for it", {
    alert: "it is lower than `mainspring_feature_level` for a day: an upgrade was not finished",
  }),
  draining: gauge([], "1 while this node gives its work to the others", {
    alert: "it is 1 for an hour: it was forgotten",
  }),
  jobs_overdue: gauge(
    [],
    "Recurring jobs of the whole cluster with a planned instant that nothing has accounted for, beyond their grace; 1000 stands for more",
    {
      alert:
        "it is above 0 for a minute: the scheduler does not keep up, or a shard has no owner; `mainspring jobs overdue`",
    },
  ),
  jobs_overdue_oldest_seconds: gauge([], "Since the earliest of these instants; 0: there is none"),
  instants_missed: gauge(
    [],
    "Planned instants of the last day, of all recurring jobs, that are MISSED in the ledger of their job; 1000 stands for more; of a node with the role api",
    { alert: "it is above 0: `mainspring jobs missed` names the jobs, and a backfill makes up for the instants" },
  ),
  missed_look_age_seconds: gauge(
    [],
    "Since the time before which this node has searched all recurring jobs for missed instants; none before the first search is over",
    { alert: "it is above 7200: the search does not keep up with the number of jobs, or the store does not answer" },
  ),
  time_zone_data_age_seconds: gauge(
    ["version"],
    "Since the release of the time zone data that jobs are planned by, by its version; none where it is not known",
    {
      alert: "it is above 15,552,000 (180 days): governments change clock rules several times a year; update the data",
    },
  ),
  time_zone_data_behind: gauge([], "1 while this node brings newer time zone data than is in force", {
    alert: "it is 1 for a day: an operator went back to older data, or an upgrade of the cluster was not finished",
  }),
  cut_off: gauge(
    [],
    "1 while this node takes no part in the work, because it and the nodes that own shards do not reach each other",
    {
      alert: "it is 1 for a minute: see the guide to operating it",
    },
  ),
  unreached_nodes: gauge([], "Living nodes with which this one has no link in both directions"),
  mesh_connections: gauge([], "Nodes that this one can send to now", {
    alert: "it is lower than `mainspring_cluster_nodes` minus one for a minute: nodes do not reach each other",
  }),
  mesh_messages_dropped_total: counter(
    [],
    "Messages to other nodes that were dropped here: to who is not reachable, or reads too slowly",
    {
      alert: "it grows while all nodes live: what was said is said again, which costs time",
    },
  ),
  mesh_waiting_bytes: gauge([], "Bytes that wait here to be sent to other nodes"),
  differing_nodes: gauge(
    [],
    "Living nodes with other values than this one of settings that must be the same on all nodes",
    {
      alert: "it is above 0: a line of the log names the node and the settings, which must be the same on all nodes",
    },
  ),
  certificate_expires_seconds: gauge(
    [],
    "End of the certificate of this node that ends first, in seconds since 1970; none without certificates",
    { alert: "it is less than a week away: renew the file, which the node notices within 10 s" },
  ),
  callers_refused_total: counter(
    ["reason"],
    "Requests and connections of workers that were refused: without a credential (MISSING), with an API KEY or a TOKEN that is not good, after TOO_MANY_TRIES, or UNAVAILABLE: nobody could tell",
    {
      alert: "KEY, TOKEN or TOO_MANY_TRIES grow for ten minutes: a program has an old key, or somebody guesses",
    },
  ),
  http_connections: gauge(
    ["kind"],
    "Connections of the HTTP server: KNOWN; UNKNOWN, on which no request has had a good key yet; RESERVED, for health checks alone",
  ),
  http_body_bytes: gauge([], "Bytes of the larger bodies of requests that this node has in memory"),
  http_refused_total: counter(
    ["reason"],
    "Connections that were closed because too many were UNKNOWN, and requests that were refused because their tenant had too many TENANT_CONNECTIONS open or filled its part of the memory with TENANT_BODIES",
  ),
  token_issuer_up: gauge([], "1 while the issuer of tokens answers this node; none without one", {
    alert: "it is 0 for five minutes: known keys of the issuer stay good for MAINSPRING_OIDC_STALE_SEC",
  }),
  kafka_bus_up: gauge([], "1 while this node can write to and read from the bus on Kafka; none without one", {
    alert: "it is 0 for a minute: the log names the cause; assignments and results go over the mesh, or wait",
  }),
  kafka_bus_messages_total: counter(
    ["way"],
    "Assignments, starts and results to other nodes: written to KAFKA, sent over the MESH instead, or DROPPED after a wait",
  ),
  kafka_bus_refused_total: counter(
    [],
    "Records for this node on Kafka that no node of the cluster has signed, or that are no messages",
    { alert: "it grows: somebody else writes to the topics of the bus, or nodes have different secrets" },
  ),
  redis_up: gauge([], "1 while the Redis beside the store answers this node; none without one", {
    alert:
      "it is 0 for five minutes: the log names the cause; jobs go on, but cancellations fail while PostgreSQL is away, and workers of a gateway that is gone are not listed",
  }),
  redis_failures_total: counter([], "Calls to the Redis beside the store that it did not answer in time, or refused"),
  redis_store_info: gauge(
    ["durability"],
    "1 by the durability that the settings ask of the Redis that is the store: ALWAYS or RELAXED; none with PostgreSQL",
  ),
  redis_store_role: gauge(
    ["role"],
    "1 by the role of the Redis that is the store: primary or replica; this figure and the next ones are read every 5 s, and there are none while that Redis does not answer",
  ),
  redis_store_used_bytes: gauge([], "Memory that the Redis that is the store uses", {
    alert: "it is above 80 % of `mainspring_redis_store_max_bytes`: submits are refused from 90 %",
  }),
  redis_store_max_bytes: gauge([], "Bound of that memory, `maxmemory`"),
  redis_store_refusal_share: gauge([], "Share of `maxmemory` from which submits are refused"),
  redis_store_replicas: gauge([], "Replicas that follow the Redis that is the store", {
    alert: "it is lower than `mainspring_redis_store_replicas_required` for a minute: submits get 503",
  }),
  redis_store_replicas_required: gauge([], "Replicas that must have a change before it is answered, by the settings"),
  redis_store_replica_lag_bytes: gauge(
    [],
    "Bytes of the stream of changes that the slowest of the replicas lacks; none without replicas",
  ),
  redis_store_history_rows: gauge(
    [],
    "Final executions that the Redis that is the store keeps, nodes of workflows with them and dead letters apart; beyond MAINSPRING_RETENTION_MAX the oldest ones go",
  ),
  redis_store_generation: gauge(
    [],
    "Number of the generation of the store on Redis, which grows with each restart or failover of Redis",
  ),
  ingest_up: gauge([], "1 while this node can read the topic of requests; none without MAINSPRING_INGEST", {
    alert: "it is 0 for a minute: the log names the cause; accepted jobs wait in Kafka",
  }),
  ingest_lag_seconds: gauge([], "Age of the oldest record of requests that this node has read and not taken in", {
    alert: "it is above 60: the store is away or too slow for what comes in through Kafka",
  }),
  ingest_lost_total: counter([], "Records of requests that Kafka no longer had when this node was to take them in", {
    alert: "it grows: the topic keeps records for a shorter time than jobs wait in it, or was emptied",
  }),
  events_delivered_total: counter(["sink"], "Lifecycle events that this node brought to a sink, repeats included"),
  event_sink_lag_seconds: gauge(["sink"], "Age of the oldest event of this node's shards that the sink does not have", {
    alert: "it is above 60: the sink is down or too slow; the log names the cause",
  }),
  event_gaps_total: counter(["sink"], "Gaps in the events of a shard that a sink was told of", {
    alert: "it grows: events were removed before the sink had them",
  }),
  event_rows_dropped_total: counter([], "Rows of events that were removed for MAINSPRING_EVENTS_MAX_MB", {
    alert: "it grows: a sink was down for too long; its gaps name what it lacks",
  }),
  webhook_tries_total: counter(["outcome"], "Tries of deliveries of webhooks by this node, by their outcome"),
  webhooks_disabled_total: counter([], "Webhooks that this node disabled because nothing was delivered for days", {
    alert: "it grows: `GET /v1/webhooks` names the webhook and the reason; its deliveries wait until it is enabled",
  }),
  webhooks_under_way: gauge([], "Deliveries of webhooks that wait for the answer of their receiver"),
  http_request_duration_seconds: histogram(
    "seconds",
    ["method", "route", "status"],
    "How long answers took; waiting for an execution counts in",
    { alert: '`status=~"5.."` grows' },
  ),
} as const satisfies Record<string, Figure>;

/** Metrics of the process that are worth alerts; the client library for Prometheus adds more of this kind. */
export const PROCESS_FIGURES = {
  nodejs_eventloop_lag_p99_seconds: {
    help: "How late the event loop was, 99th percentile since the last scrape",
    alert: "it is above 0.5: the process is overloaded; above a second it cannot tell who is lost",
  },
  process_resident_memory_bytes: { help: "Memory of the process", alert: "it comes near the limit of its container" },
  process_cpu_seconds_total: {
    help: "CPU time of the process",
    alert: "its rate stays near 1: one core is all it uses",
  },
} as const;

/** Prefix of every metric's name. */
export const PREFIX = "mainspring_";

export type FigureName = keyof typeof FIGURES;
export type NamesOf<T extends Figure["type"]> = {
  [N in FigureName]: (typeof FIGURES)[N]["type"] extends T ? N : never;
}[FigureName];

export interface Figure {
  type: "counter" | "gauge" | "histogram";
  labels: readonly string[];
  help: string;
  /** Condition of an alert, for people. */
  alert?: string;
  unit?: "seconds" | "sizes";
}

interface Alert {
  alert?: string;
}

function counter(labels: readonly string[], help: string, alert: Alert = {}) {
  return { type: "counter" as const, labels, help, ...alert };
}

function gauge(labels: readonly string[], help: string, alert: Alert = {}) {
  return { type: "gauge" as const, labels, help, ...alert };
}

function histogram(unit: "seconds" | "sizes", labels: readonly string[], help: string, alert: Alert = {}) {
  return { type: "histogram" as const, labels, help, unit, ...alert };
}
