import { type Static, Type } from "typebox";
import { ALERT_SEVERITIES, SILENCE_REASONS } from "./enums.ts";
import { FinalState } from "./execution.ts";
import { Count, Instant, named, oneOf, StringOrNull } from "./fields.ts";

/** Numbers by point. */
const values = (description: string) =>
  Type.Array(Type.Union([Type.Number(), Type.Null()]), { description: `${description}; null: no figure` });

const owner = StringOrNull("tenant that owns the pool; null: the pool is shared");

const SilentNode = named("SilentNode", {
  nodeId: Type.String({ description: "one life of the node" }),
  address: Type.String({ description: "host:port where other nodes reach it" }),
  reason: oneOf(
    SILENCE_REASONS,
    "NO_ANSWER: it told nothing, or not everything, in time; OLDER: its program keeps no series",
    "SilenceReason",
  ),
});

const PoolSeries = named("PoolSeries", {
  pool: Type.String({ description: "name of the pool; other: all pools after the first twenty" }),
  owner,
  ready: values("READY executions in the store, counted every 30 s; 100000 stands for more"),
  oldestSec: values("seconds since the due time of the oldest execution that is next; 0: none waits"),
  running: values("executions that a worker has started"),
  slots: values("slots of the connected workers"),
  deadLetters: values("executions that became dead letters"),
});

export const FiringAlertBody = named("FiringAlert", {
  name: Type.String({ description: "name of the rule in deploy/prometheus/alerts.yml" }),
  severity: oneOf(ALERT_SEVERITIES, "PAGE: needs a person now; TICKET: on the next working day", "AlertSeverity"),
  since: Instant("since when the condition has held; it may have begun before the first point"),
  summary: Type.String({ description: "a sentence for people" }),
  pool: StringOrNull("pool that the alert is about; null: none in particular"),
  poolOwner: owner,
  node: StringOrNull("address of the node that the alert is about; null: the cluster"),
  runbook: Type.String({
    description:
      "section of a runbook that says what to do, as a path in the repository and in the package of the server",
  }),
});

export const SeriesBody = named("Series", {
  from: Instant("when the first point begins; the points follow each other without a break"),
  stepSec: Count("length of a point in seconds"),
  nodes: Type.Array(Type.Integer({ minimum: 0 }), {
    description: "nodes that told of each point; 0: every figure of the point is null",
  }),
  missing: Type.Array(Type.Integer({ minimum: 0 }), {
    description:
      "nodes that lived at each point and did not tell of it: they were killed since, are silent, or keep no series. Above 0, sums are too low",
  }),
  silent: Type.Array(SilentNode, { description: "living nodes that did not answer" }),
  finished: Type.Array(named("FinishedSeries", { state: FinalState, counts: values("executions that became final") })),
  starts: values("first starts of executions"),
  p50Ms: values("median of the lateness of these starts, in milliseconds"),
  p99Ms: values("99th percentile of it"),
  retried: values("attempts that failed and are tried again"),
  failures: Type.Array(
    named("FailureSeries", {
      handler: Type.String({ description: "other: all handlers after the first twenty" }),
      counts: values("attempts that ended as FAILED or TIMED_OUT"),
    }),
    { description: "handlers with failures within the hour, by name" },
  ),
  pools: Type.Array(PoolSeries, { description: "pools with figures within the hour, by name" }),
  deadLetters: values("executions that became dead letters, of all pools"),
  workers: values("connected workers"),
  slots: values("slots of the connected workers"),
  running: values("executions that a worker has started"),
  recurring: named("RecurringSeries", {
    late: values("instants that fired later than the grace of their job"),
    overdue: values("jobs with an instant that nothing has accounted for, beyond their grace; 1000 stands for more"),
    missed: values("instants of the last day without any trace; 1000 stands for more"),
  }),
  loopLagMs: values("99th percentile of the delay of the event loop of the slowest node, in milliseconds"),
  alerts: Type.Array(FiringAlertBody, {
    description: "alerts that would fire now, of the rules of deploy/prometheus/alerts.yml that an hour can judge",
  }),
});
export type SeriesBody = Static<typeof SeriesBody>;
