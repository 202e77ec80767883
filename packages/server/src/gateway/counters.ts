/** Counts of a gateway since its start, for metrics. */
export interface GatewayCounters {
  /** Number of workers connected now. */
  readonly workersConnected: number;
  readonly workersLost: number;
  readonly assignsSent: number;
  /** Assignments that the gateway answered with RELEASED, because it could not deliver them to the worker. */
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
