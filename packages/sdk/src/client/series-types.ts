/** Numbers by point; null: no figure. */
export type PointValues = (number | null)[];

/** The last hour of the servers' figures, merged from the memory of all living servers. */
export interface FigureSeries {
  /** Time at which the first point begins. The points follow each other without a break. */
  from: string;
  /** Length of a point in seconds. */
  stepSec: number;
  /** Number of nodes that told of each point. 0: every figure of the point is null. */
  nodes: number[];
  /**
   * Number of nodes that lived at each point and did not tell of it: they were killed since, are silent, or keep no
   * series. Above 0, sums are too low.
   */
  missing: number[];
  /** Living nodes that did not answer. */
  silent: SilentNode[];
  /** Executions that became final, by state. */
  finished: { state: "SUCCEEDED" | "CANCELLED" | "SKIPPED" | "DEAD"; counts: PointValues }[];
  /** First starts of executions. */
  starts: PointValues;
  /** Median of the lateness of these starts, in milliseconds. */
  p50Ms: PointValues;
  /** 99th percentile of the lateness of these starts, in milliseconds. */
  p99Ms: PointValues;
  /** Attempts that failed and are tried again. */
  retried: PointValues;
  /** Attempts that ended as FAILED or TIMED_OUT, by handler. `other`: all handlers after the first twenty. */
  failures: { handler: string; counts: PointValues }[];
  /** Figures of each pool. */
  pools: PoolSeries[];
  /** Executions that became dead letters, of all pools. */
  deadLetters: PointValues;
  /** Connected workers. */
  workers: PointValues;
  /** Slots of the connected workers. */
  slots: PointValues;
  /** Executions that a worker has started. */
  running: PointValues;
  /** Figures of recurring jobs. */
  recurring: {
    /** Instants that fired later than the grace of their job. */
    late: PointValues;
    /** Jobs with an instant that nothing has accounted for, beyond their grace; 1000 means as many or more. */
    overdue: PointValues;
    /** Instants of the last day without any trace; 1000 means as many or more. */
    missed: PointValues;
  };
  /** 99th percentile of the delay of the event loop of the slowest node, in milliseconds. */
  loopLagMs: PointValues;
  /** Alerts that would fire now, of the rules of `deploy/prometheus/alerts.yml` that an hour can judge. */
  alerts: FiringAlert[];
}

/** Figures of a pool in `FigureSeries`. */
export interface PoolSeries {
  /** Name of the pool. `other`: all pools after the first twenty. */
  pool: string;
  /** Tenant that owns the pool; null: the pool is shared. */
  owner: string | null;
  /** READY executions in the store, counted every 30 s; 100000 means as many or more. */
  ready: PointValues;
  /** Seconds since the due time of the oldest execution that is next; 0: none waits. */
  oldestSec: PointValues;
  /** Executions that a worker has started. */
  running: PointValues;
  /** Slots of the connected workers. */
  slots: PointValues;
  /** Executions that became dead letters. */
  deadLetters: PointValues;
}

/** A living node that did not answer. */
export interface SilentNode {
  /** Id of the node's process. */
  nodeId: string;
  /** Address where other nodes reach the node, as host:port. */
  address: string;
  /** NO_ANSWER: the node told nothing, or not everything, in time. OLDER: the node's program keeps no series. */
  reason: "NO_ANSWER" | "OLDER";
}

/** An alert that would fire. */
export interface FiringAlert {
  /** Name of the rule in `deploy/prometheus/alerts.yml`. */
  name: string;
  /** PAGE: needs a person now. TICKET: on the next working day. */
  severity: "PAGE" | "TICKET";
  /** Time since which the condition has held. The condition may have begun before the first point. */
  since: string;
  /** Sentence for people. */
  summary: string;
  /** Pool that the alert is about, and the tenant that owns the pool; null: none in particular, or a shared pool. */
  pool: string | null;
  poolOwner: string | null;
  /** Address of the node that the alert is about; null: the cluster. */
  node: string | null;
  /** Section of the guide that says what to do, as a path in the repository. */
  runbook: string;
}
