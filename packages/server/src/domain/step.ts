import type { EpochMs } from "./ids.ts";

/**
 * Kind of a record. RESULT: the value of a step, of which the first record counts. CHECKPOINT: the newest record counts;
 * an execution has one checkpoint, and its name is empty. WAIT: a step for which an attempt suspended, until its RESULT
 * replaces the record; the first WAIT of a name counts, and its data is the JSON text of a `StepWait`.
 */
export type StepKind = "RESULT" | "CHECKPOINT" | "WAIT";

/** End of a step's wait. */
export interface StepWait {
  /** Time at which the wait is over. */
  until: EpochMs;
  /** Names of signals that end the wait earlier; empty: the step sleeps. */
  signals: readonly string[];
}

/** A message to an execution. The store keeps it until a step consumes it. */
export interface Signal {
  /** Unique within the execution; chosen by the sender, who may repeat the request. */
  id: string;
  name: string;
  /** JSON text; null: none. */
  data: Uint8Array | null;
  /** Time at which the server accepted the signal. */
  at: EpochMs;
}

/** A durable record of a handler. Every later attempt of the execution gets it. */
export interface RecordedStep {
  name: string;
  kind: StepKind;
  /** Attempt that made the record, and number of the record within the attempt. */
  attempt: number;
  number: number;
  /** Time at which the owner took the record. */
  at: EpochMs;
  /** JSON text; null: undefined. */
  data: Uint8Array | null;
  /** Id of the signal that a RESULT consumes; left out: none. */
  signalId?: string;
}

/**
 * Whether a record replaces an earlier one of the same name: the first result counts, also after a wait, and the newest
 * checkpoint.
 */
export function replaces(record: RecordedStep, known: RecordedStep): boolean {
  if (known.kind === "WAIT") return record.kind === "RESULT";
  if (known.kind !== "CHECKPOINT") return false;
  return record.attempt > known.attempt || (record.attempt === known.attempt && record.number > known.number);
}
