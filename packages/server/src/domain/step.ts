import type { EpochMs } from "./ids.ts";

/**
 * Kind of a record. RESULT: the value of a step, of which the first record counts. CHECKPOINT: the newest record counts;
 * an execution has one checkpoint, and its name is empty.
 */
export type StepKind = "RESULT" | "CHECKPOINT";

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
}

/** Whether a record replaces an earlier one of the same name: the first result counts, and the newest checkpoint. */
export function replaces(record: RecordedStep, known: RecordedStep): boolean {
  if (known.kind !== "CHECKPOINT") return false;
  return record.attempt > known.attempt || (record.attempt === known.attempt && record.number > known.number);
}
