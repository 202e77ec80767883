export interface Retention {
  /** Days for which final executions are kept; MAINSPRING_RETENTION_DAYS. */
  days: number;
  /** Days for which dead letters are kept. */
  deadDays: number;
  /** Largest number of final executions, dead letters apart, that a store in memory keeps; default: any. Another store has no bound. */
  most?: number;
  /** Time in ms for which lifecycle events are kept; default: an hour. A row stays longer until every sink has it. */
  eventsMs?: number;
  /** Sinks of lifecycle events in the configuration of the node; default: none. */
  eventSinks?: readonly string[];
}
