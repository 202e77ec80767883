/** Counts of a gateway since its start, for metrics. */
export interface GatewayCounters {
  /** Now, not in all. */
  readonly workersConnected: number;
  readonly workersLost: number;
  readonly assignsSent: number;
  /** Answered with RELEASED, because the worker could not be given them. */
  readonly assignsReturned: number;
  readonly started: number;
  readonly finished: number;
  /** Attempts that their owner refused as not current. */
  readonly refused: number;
}

export class Counters implements GatewayCounters {
  workersConnected = 0;
  workersLost = 0;
  assignsSent = 0;
  assignsReturned = 0;
  started = 0;
  finished = 0;
  refused = 0;
}
