/** An edge of the product that the fuzzer gives inputs to. */
export interface FuzzedEdge {
  readonly name: string;
  /** Starts what is under test, on its own. */
  start(): Promise<RunningEdge>;
}

export interface RunningEdge {
  /**
   * Gives it one input.
   * @param seed the input follows from it alone
   * @returns what must never happen and did; null: it was refused or taken as it should be
   */
  try(seed: number): Promise<string | null>;
  stop(): Promise<void>;
}

/** Outcome of a run over one edge. */
export interface FuzzResult {
  edge: string;
  inputs: number;
  seconds: number;
  /** Resident memory after the first ten thousand inputs (or a tenth of them), and at the end. */
  earlyMiB: number;
  finalMiB: number;
  /** The longest that an input held the event loop, in milliseconds of processor time. */
  longestHoldMs: number;
  faults: readonly string[];
}
