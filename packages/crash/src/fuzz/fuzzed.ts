/** An edge of the product, to which the fuzzer sends inputs. */
export interface FuzzedEdge {
  readonly name: string;
  /** Starts the part under test. */
  start(): Promise<RunningEdge>;
}

export interface RunningEdge {
  /**
   * Sends one input.
   * @param seed seed that alone determines the input
   * @returns description of forbidden behaviour; null: the input was correctly refused or accepted
   */
  try(seed: number): Promise<string | null>;
  stop(): Promise<void>;
}

/** Outcome of a run over one edge. */
export interface FuzzResult {
  edge: string;
  inputs: number;
  seconds: number;
  /** Resident memory after the first ten thousand inputs (or a tenth of them), and at the end, in MiB. */
  earlyMiB: number;
  finalMiB: number;
  /** Longest time that an input held the event loop, in milliseconds of CPU time. */
  longestHoldMs: number;
  faults: readonly string[];
}
