/** State of the Redis that is the store, as one look at it shows. */
export interface RedisFigures {
  usedBytes: number;
  /** Bound of the memory, `maxmemory`. */
  maxBytes: number;
  /** Share of the bound from which submits are refused. */
  refusalShare: number;
  role: "primary" | "replica";
  /** Number of replicas that follow the server. */
  replicas: number;
  /** Bytes of the stream of changes that the slowest of these replicas lacks; null: there are none. */
  lagBytes: number | null;
  /** Number of final executions, dead letters apart. */
  historyRows: number;
  /** Number of the generation of the store; null: no program has opened it. */
  generation: number | null;
}
