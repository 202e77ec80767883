import type { AlertRule } from "./alerts.ts";
import type { SeriesName } from "./figures.ts";

const SHARDS = 64;
const MIN = 60;
const WEEK_SEC = 7 * 86_400;
const LATE_OUTCOMES = ["LATE", "MISFIRE", "MISFIRE_LIMIT"];
const KEY_REASONS = ["KEY", "TOKEN", "TOO_MANY_TRIES"];

type Rule = Omit<AlertRule, "runbook">;
type Judged = Omit<Rule, "name" | "severity" | "forSec" | "over">;

function ruleOf(over: AlertRule["over"], severity: AlertRule["severity"]) {
  return (name: string, forSec: number, judged: Judged): Rule => ({ name, severity, forSec, over, ...judged });
}
const page = ruleOf("CLUSTER", "PAGE");
const ticket = ruleOf("CLUSTER", "TICKET");
const nodePage = ruleOf("NODE", "PAGE");
const nodeTicket = ruleOf("NODE", "TICKET");

/** Growth of a counter within a time, above a limit. */
function growing(name: SeriesName, sec: number, above: number, says: AlertRule["says"], label?: string): Judged {
  return { value: (look) => look.grown(name, sec, label), above, says };
}

/** The same for each value of the counter's label by itself. */
function growingBy(name: SeriesName, sec: number, above: number, says: AlertRule["says"]): Judged {
  return { by: name, ...growing(name, sec, above, says) };
}

function levelAbove(name: SeriesName, above: number, says: AlertRule["says"], by?: SeriesName): Judged {
  return { ...(by !== undefined && { by }), value: (look) => look.level(name), above, says };
}

/** A system beside the node that does not answer the node. */
function away(name: SeriesName, says: string): Judged {
  return { value: (look) => look.level(name), below: 1, says: () => says };
}

const seconds = (value: number) => `${Number(value.toFixed(1))} s`;

/** Rules by the page of `docs/runbooks` that says what to do. */
const RULES: Readonly<Record<string, readonly Rule[]>> = {
  work: [
    page("MainspringLate", 10 * MIN, {
      by: "lateness_seconds",
      value: (look) => look.quantileSec("lateness_seconds", 0.99, 5 * MIN),
      above: 30,
      says: (late, pool) => `Jobs of pool ${pool} start late: 99th percentile ${seconds(late)}`,
    }),
    page("MainspringNobodyRunsIt", 10 * MIN, {
      by: "executions_ready",
      needsAll: true,
      value: (look) => ((look.level("executions_running") ?? 0) > 0 ? null : look.level("executions_ready")),
      above: 0,
      says: (_, pool) => `Work waits in pool ${pool} and nobody runs any`,
    }),
    page("MainspringBacklogOld", 10 * MIN, {
      ...levelAbove(
        "backlog_oldest_seconds",
        300,
        (age, pool) => `Work of pool ${pool} has waited for ${seconds(age)}`,
      ),
      by: "backlog_oldest_seconds",
    }),
    ticket("MainspringDeadLetters", 0, {
      ...growingBy("dead_letters_total", 15 * MIN, 0, (count, pool) => `${count} new dead letters in pool ${pool}`),
    }),
    ticket("MainspringRetrying", 15 * MIN, {
      value: (look) =>
        look.grown("attempts_retried_total", 15 * MIN) / Math.max(look.grown("assigned_total", 15 * MIN), 1),
      above: 0.5,
      says: () => "More than half of the attempts are repeated ones",
    }),
  ],
  recurring: [
    ticket("MainspringMisfires", 0, {
      by: "planned_instants_total",
      value: (look) => (LATE_OUTCOMES.includes(look.label) ? look.grown("planned_instants_total", 15 * MIN) : null),
      above: 0,
      says: (count, outcome) => `${count} planned instants were ${outcome}`,
    }),
    page(
      "MainspringJobsOverdue",
      MIN,
      levelAbove("jobs_overdue", 0, (count) => `${count} recurring jobs are overdue`),
    ),
    page(
      "MainspringInstantsMissed",
      0,
      levelAbove("instants_missed", 0, (count) => `${count} planned instants of recurring jobs are missed`),
    ),
    ticket(
      "MainspringMissedNotSearched",
      10 * MIN,
      levelAbove(
        "missed_look_age_seconds",
        7_200,
        (age) => `The last search for missed instants is ${seconds(age)} old`,
      ),
    ),
  ],
  workers: [
    ticket(
      "MainspringWorkersLost",
      0,
      growing("workers_lost_total", 15 * MIN, 2, (count) => `${count} workers were lost within 15 minutes`),
    ),
    ticket(
      "MainspringStaleResults",
      15 * MIN,
      growing("stale_results_refused_total", 15 * MIN, 5, (n) => `${n} results came from workers that were given up`),
    ),
    nodeTicket(
      "MainspringStuckSlots",
      5 * MIN,
      levelAbove(
        "worker_stuck_slots",
        0,
        (count, pool) => `${count} slots of pool ${pool} are stuck`,
        "worker_stuck_slots",
      ),
    ),
    nodeTicket(
      "MainspringLogLinesDropped",
      10 * MIN,
      growing("log_lines_dropped_total", 5 * MIN, 0, (count) => `${count} log lines of handlers were dropped`),
    ),
  ],
  store: [
    page(
      "MainspringStoreDown",
      MIN,
      growing("store_outages_total", 5 * MIN, 0, () => "The store does not answer"),
    ),
    ticket("MainspringStoreSlow", 10 * MIN, {
      value: (look) => look.quantileSec("commit_duration_seconds", 0.99, 5 * MIN),
      above: 1,
      says: (duration) => `Commits take ${seconds(duration)} (99th percentile)`,
    }),
    nodeTicket(
      "MainspringStoreBusy",
      5 * MIN,
      levelAbove("store_waiting", 0, (_, purpose) => `Requests wait for a connection for ${purpose}`, "store_waiting"),
    ),
    page("MainspringRedisStoreFull", 5 * MIN, {
      value: (look) => (look.level("redis_store_used_bytes") ?? 0) / (look.level("redis_store_max_bytes") ?? Infinity),
      above: 0.8,
      says: (share) => `The Redis that is the store uses ${Math.round(share * 100)} % of its memory`,
    }),
    page("MainspringRedisReplicasMissing", MIN, {
      value: (look) =>
        (look.level("redis_store_replicas_required") ?? 0) - (look.level("redis_store_replicas") ?? Infinity),
      above: 0,
      says: (lacking) => `${lacking} replicas of the Redis that is the store are missing, so that submits get 503`,
    }),
  ],
  nodes: [
    ticket("MainspringNodeMissing", 5 * MIN, {
      value: (look) => (look.most("cluster_nodes", 60 * MIN) ?? 0) - (look.level("cluster_nodes") ?? 0),
      above: 0,
      says: (fewer) => `${fewer} nodes fewer live than within the last hour`,
    }),
    page("MainspringOwnsNothing", MIN, {
      needsAll: true,
      value: (look) => look.level("owned_shards"),
      below: SHARDS,
      says: (owned) => `Only ${owned} of ${SHARDS} shards have an owner`,
    }),
    ticket(
      "MainspringTakeovers",
      0,
      growingBy("takeovers_total", 15 * MIN, 2, (n, cause) => `Nodes dropped what they knew ${n} times: ${cause}`),
    ),
    ticket(
      "MainspringShardsMove",
      5 * MIN,
      growing("shard_takeovers_total", 5 * MIN, 300, (n) => `${n} shards changed owners within 5 minutes`),
    ),
    nodeTicket(
      "MainspringLeaseRenewals",
      0,
      growing("lease_renewals_total", 5 * MIN, 3, () => "The node fails to renew its lease", "FAILED"),
    ),
    nodeTicket("MainspringLeaseOld", 30, {
      value: (look) => ((look.level("cluster_nodes") ?? 0) > 1 ? look.level("lease_age_seconds") : null),
      above: 2,
      says: (age) => `The lease of the node is ${seconds(age)} old`,
    }),
    ticket(
      "MainspringSettingsDiffer",
      5 * MIN,
      levelAbove("differing_nodes", 0, () => "Nodes of the cluster have different settings of events, ingest or Redis"),
    ),
  ],
  links: [
    nodeTicket("MainspringNodesApart", MIN, {
      value: (look) => (look.level("cluster_nodes") ?? 0) - 1 - (look.level("mesh_connections") ?? 0),
      above: 0,
      says: () => "The node has no link to every other node",
    }),
    nodePage(
      "MainspringCutOff",
      MIN,
      levelAbove("cut_off", 0, () => "The node is cut off from the nodes that own shards"),
    ),
    nodeTicket(
      "MainspringMeshDrops",
      10 * MIN,
      growing("mesh_messages_dropped_total", 5 * MIN, 100, (n) => `The node dropped ${n} messages to other nodes`),
    ),
    nodeTicket(
      "MainspringKafkaBusDown",
      MIN,
      away("kafka_bus_up", "The node cannot write to or read from the bus on Kafka"),
    ),
    page(
      "MainspringKafkaBusForged",
      0,
      growing(
        "kafka_bus_refused_total",
        10 * MIN,
        0,
        () => "Something that is no node writes to the topics of the bus",
      ),
    ),
    nodeTicket("MainspringRedisDown", 5 * MIN, away("redis_up", "The Redis beside the store does not answer the node")),
  ],
  access: [
    nodeTicket("MainspringCertificateEnds", 10 * MIN, {
      value: (look) => {
        const endsSec = look.level("certificate_expires_seconds");
        return endsSec === null ? null : endsSec - look.atSec;
      },
      below: WEEK_SEC,
      says: () => "A certificate of the node ends in less than a week",
    }),
    ticket("MainspringCallersRefused", 10 * MIN, {
      value: (look) =>
        KEY_REASONS.reduce((sum, reason) => sum + look.grown("callers_refused_total", 10 * MIN, reason), 0) /
        (10 * MIN),
      above: 0.1,
      says: () => "A program has an old key or token, or somebody guesses",
    }),
    nodePage(
      "MainspringTokenIssuerDown",
      5 * MIN,
      away("token_issuer_up", "The issuer of tokens does not answer the node"),
    ),
  ],
  intake: [
    nodePage("MainspringIngestDown", MIN, away("ingest_up", "The node cannot take in jobs from Kafka")),
    nodeTicket(
      "MainspringIngestBehind",
      2 * MIN,
      levelAbove("ingest_lag_seconds", 60, (lag) => `The node is ${seconds(lag)} behind with jobs from Kafka`),
    ),
    page(
      "MainspringIngestLost",
      0,
      growing("ingest_lost_total", 10 * MIN, 0, () => "Kafka dropped accepted jobs before they were taken in"),
    ),
    ticket(
      "MainspringRequestsRefused",
      0,
      growing(
        "requests_ended_total",
        10 * MIN,
        0,
        () => "Jobs that applications submitted in their own transactions were refused",
        "REFUSED",
      ),
    ),
  ],
  events: [
    ticket("MainspringSinkBehind", 5 * MIN, {
      ...levelAbove("event_sink_lag_seconds", 60, (lag, sink) => `${sink} lacks events that are ${seconds(lag)} old`),
      by: "event_sink_lag_seconds",
    }),
    page("MainspringEventsDropped", 0, {
      value: (look) => look.grown("event_rows_dropped_total", 10 * MIN) + look.grown("event_gaps_total", 10 * MIN),
      above: 0,
      says: () => "Events were removed before a sink had them",
    }),
    ticket(
      "MainspringWebhookDisabled",
      0,
      growing(
        "webhooks_disabled_total",
        10 * MIN,
        0,
        () => "A webhook was disabled because nothing was delivered for days",
      ),
    ),
  ],
  processes: [
    nodeTicket(
      "MainspringLoopLag",
      5 * MIN,
      levelAbove("event_loop_lag_seconds", 0.5, (lag) => `The event loop of the node is ${seconds(lag)} late`),
    ),
  ],
};

/**
 * Alerts that the series of an hour can judge. Names, times, severities and runbooks are those of
 * `deploy/prometheus/alerts.yml`; `tools/reference/alerts.test.ts` compares them.
 */
export const ALERT_RULES: readonly AlertRule[] = Object.entries(RULES).flatMap(([page, rules]) =>
  rules.map((rule) => ({ ...rule, runbook: `docs/runbooks/${page}.md#${rule.name.toLowerCase()}` })),
);

/** Reasons why the other rules of that file cannot be judged here. */
export const UNJUDGED_ALERTS: Readonly<Record<string, string>> = {
  MainspringSlowHandlers: "compares with the day before",
  MainspringTimeZoneDataOld: "waits for an hour, which the series just do not reach",
  MainspringTimeZoneDataBehind: "waits for a day",
  MainspringWorkersMissing: "compares with the day before",
  MainspringWorkersOutdated: "waits for a day",
  MainspringDown: "a server that answers is not down",
  MainspringNodeDown: "says that Prometheus reaches a node; the answer names nodes that were silent",
  MainspringUpgradeUnfinished: "waits for a day",
  MainspringDrainForgotten: "waits for an hour, which the series just do not reach",
  MainspringErrors: "the series have no figures by route of the API",
  MainspringMemory: "the series have no figures of the process",
  MainspringCpu: "the series have no figures of the process",
};
