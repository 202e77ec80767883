import type { WorkerId } from "../domain/ids.ts";
import type { StepKind } from "../domain/step.ts";
import type { Token } from "./messages.ts";

/** A record that a handler has made. */
export interface ReportedStep extends Token {
  workerId: WorkerId;
  /** Number of the record, which grows within an attempt. */
  number: number;
  /** Empty: a checkpoint. */
  name: string;
  step: StepKind;
  /** JSON text; null: undefined. */
  data: Uint8Array | null;
}

/** Reference to a record that is durable. */
export interface DurableStep extends Token {
  number: number;
}
