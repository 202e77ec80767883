import type { ReadOptions } from "./requests.ts";

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

/** Step of an execution that sleeps or waits for a signal, and for which an attempt was suspended. */
export interface RecordedWait {
  /** Name of the step, as the handler gave it. */
  name: string;
  /** Attempt that was suspended. */
  attempt: number;
  /** Time at which the server took the record. */
  recordedAt: string;
  /** Time at which the wait is over. */
  until: string;
  /** Names of the signals that end the wait earlier; empty: the step sleeps. */
  signals: string[];
}

/** Signal to an execution that no step has consumed. */
export interface OpenSignal {
  /** Id of the signal, unique within the execution. */
  signalId: string;
  /** Name of the signal. */
  name: string;
  /** Data as the sender gave them; null: none. */
  data: unknown;
  /** Time at which the server accepted the signal. */
  acceptedAt: string;
}

/** Options of a signal. */
export interface SignalOptions extends ReadOptions {
  /**
   * Id of the signal, 1 to 128 characters, unique within the execution: a program that may send the signal twice gives it the
   * same id. Default: a new id, so that the client's own retries send one signal.
   */
  id?: string;
}

/** A signal that the server has accepted. */
export interface SentSignal {
  signalId: string;
  name: string;
  /** Time at which the server first accepted the signal. */
  acceptedAt: string;
  /** Whether the execution had this signal already. */
  isRepeated: boolean;
}

/** Durable steps of an execution, with their values. */
export interface ExecutionSteps {
  executionId: string;
  /** Steps in the order in which they were recorded; a value is null if the step has none. */
  steps: (Omit<RecordedStep, "bytes"> & { value: unknown })[];
  /** Newest checkpoint; null: none. */
  checkpoint: RecordedCheckpoint | null;
  /** Steps that sleep or wait for a signal, until their results are recorded, in the order in which they were recorded. */
  waits: RecordedWait[];
  /** Signals that no step has consumed, in the order in which they were accepted. */
  signals: OpenSignal[];
}
