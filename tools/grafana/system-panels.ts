import { type DashboardPlan, gauge, quantiles, rate, sum } from "./plan.ts";

/** Dashboards of the nodes, the workers and the store. */
export const SYSTEM_DASHBOARDS: readonly DashboardPlan[] = [
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
        about: "By outcome. FAILED renewals say that the store or etcd answers late or not at all.",
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
        title: "Bus on Kafka",
        about:
          "Assignments, starts and results by their way, and records without a valid signature: none in health. Empty without MAINSPRING_BUS=kafka.",
        unit: "ops",
        queries: [
          [sum(rate("mainspring_kafka_bus_messages_total"), "way"), "{{way}}"],
          [sum(rate("mainspring_kafka_bus_refused_total")), "refused"],
          [`min(${gauge("mainspring_kafka_bus_up")})`, "up, at least"],
        ],
      },
      {
        title: "Redis beside the store",
        about:
          "Calls that Redis did not answer, and whether it answers all nodes: 1 in health. Empty without MAINSPRING_REDIS.",
        unit: "short",
        queries: [
          [sum(rate("mainspring_redis_failures_total")), "failures in a second"],
          [`min(${gauge("mainspring_redis_up")})`, "up, at least"],
        ],
      },
      {
        title: "Intake from Kafka",
        about:
          "Age of the oldest record of requests that is read and not taken in, and records that Kafka dropped before: none in health. Empty without MAINSPRING_INGEST.",
        unit: "s",
        queries: [
          [`max(${gauge("mainspring_ingest_lag_seconds")})`, "oldest record"],
          [sum(rate("mainspring_ingest_lost_total")), "lost"],
          [`min(${gauge("mainspring_ingest_up")})`, "up, at least"],
        ],
      },
      {
        title: "Settings that differ",
        about: "Nodes whose settings of events are not those of the others: 0 in health.",
        unit: "short",
        queries: [[`max(${gauge("mainspring_differing_nodes")})`, "nodes"]],
      },
      {
        title: "Certificates",
        about: "Days until the certificate of a node that ends first. Empty without TLS.",
        unit: "short",
        queries: [[`min((${gauge("mainspring_certificate_expires_seconds")} - time()) / 86400)`, "days"]],
      },
      {
        title: "Refused callers",
        about:
          "Requests and connections of workers that were refused, by reason, and whether the issuer of tokens answers all nodes: 1 in health, empty without one.",
        unit: "short",
        queries: [
          [sum(rate("mainspring_callers_refused_total"), "reason"), "{{reason}}"],
          [`min(${gauge("mainspring_token_issuer_up")})`, "issuer up, at least"],
        ],
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
        title: "Memory of the Redis that is the store",
        about:
          "Used memory and its bound. Submits are refused from 90 %. Empty while Redis does not answer, and with PostgreSQL.",
        unit: "bytes",
        queries: [
          [`max(${gauge("mainspring_redis_store_used_bytes")})`, "used"],
          [`max(${gauge("mainspring_redis_store_max_bytes")})`, "bound"],
          [`max(${gauge("mainspring_redis_store_replica_lag_bytes")})`, "lag of replicas"],
        ],
      },
      {
        title: "History in the Redis that is the store",
        about: "Final executions that it keeps. Beyond MAINSPRING_RETENTION_MAX the oldest ones go.",
        unit: "short",
        queries: [[`max(${gauge("mainspring_redis_store_history_rows")})`, "executions"]],
      },
      {
        title: "Replicas of the Redis that is the store",
        about:
          "Replicas that follow it, and those that must have a change before it is answered. Submits get 503 while there are fewer.",
        unit: "short",
        queries: [
          [`min(${gauge("mainspring_redis_store_replicas")})`, "follow"],
          [`max(${gauge("mainspring_redis_store_replicas_required")})`, "required"],
        ],
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
