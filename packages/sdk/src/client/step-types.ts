/** A durable step of an execution. */
export interface RecordedStep {
  /** Name of the step, as the handler gave it. */
  name: string;
  /** Attempt that made the record. */
  attempt: number;
  /** Time at which the server took the record. */
  recordedAt: string;
  /** Size of the value as JSON, in bytes. */
  bytes: number;
}

/** Checkpoint of an execution. */
export interface RecordedCheckpoint {
  /** Value as the handler gave it. */
  data: unknown;
  /** Attempt that made the record. */
  attempt: number;
  /** Time at which the server took the record. */
  recordedAt: string;
}

/** Durable steps of an execution, with their values. */
export interface ExecutionSteps {
  executionId: string;
  /** Steps in the order in which they were recorded; a value is null if the step has none. */
  steps: (Omit<RecordedStep, "bytes"> & { value: unknown })[];
  /** Newest checkpoint; null: none. */
  checkpoint: RecordedCheckpoint | null;
}
