/** Load and machines for which the calculator computes needs. */
export interface Plan {
  jobsPerDay: number;
  /** Rate at the busiest time, as a multiple of the mean rate. */
  peakFactor: number;
  payloadBytes: number;
  resultBytes: number;
  /** Mean number of attempts of a job, 1 or more. */
  attempts: number;
  retentionDays: number;
  /** Number of workers; null: as many as the jobs need. */
  workers: number | null;
  /** Number of slots of each worker. */
  slots: number;
  /** Mean time for which a job occupies its slot, in milliseconds. */
  handlerMs: number;
  /** Number of recurring jobs. Their executions count as jobs of the day. */
  recurring: number;
  /** Number of nodes; null: the calculator suggests one. */
  nodes: number | null;
  /** Number of cores that a node may use. */
  coresPerNode: number;
  /** Where lifecycle events go. No case of the benchmark measures `clickhouse` alone. */
  events: "off" | "api" | "kafka" | "clickhouse";
  /** Whether clients submit jobs one by one, or in batches of 1,000. */
  submits: "single" | "batches";
  /** PostgreSQL that the plan assumes. */
  store: {
    cores: number;
    /** `max_connections`. */
    connections: number;
    /** Bytes of the log that its disk can write, in MB a second. */
    walMbPerSec: number;
    /** Flushes of the log that its disk can do in a second. */
    iops: number;
    /** Room of its disk, in GiB. */
    gib: number;
  };
}

const A_DAY_SEC = 86_400;

/** Jobs a second at the busiest time. */
export function peakOf({ jobsPerDay, peakFactor }: Plan): number {
  return (jobsPerDay / A_DAY_SEC) * peakFactor;
}
