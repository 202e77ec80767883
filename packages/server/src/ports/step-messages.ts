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
  step: Exclude<StepKind, "WAIT">;
  /** JSON text; null: undefined. */
  data: Uint8Array | null;
  /** Id of the signal that the step consumes; left out: none. */
  signalId?: string;
}

/** A wait that a suspended attempt has reached. */
export interface ReportedWait {
  /** Name of the step that waits. */
  name: string;
  /** Milliseconds from the end of the attempt until the wait is over. */
  delayMs: number;
  /** Names of signals that end the wait earlier; empty: the step sleeps. */
  signals: readonly string[];
  /** Whether an earlier attempt suspended for the wait, so that its record is there. */
  isRecorded: boolean;
}

/** Nodes that a handler adds to its run. Their numbers count from the first of them. */
export interface Spawned {
  /** Graph of these nodes alone, as `encodeGraph` writes it. */
  graph: Uint8Array;
  /** Definitions of the nodes, as `encodingNodes` writes them. */
  definitions: Uint8Array;
  /** JSON texts, and templates of parts. Nodes without a payload are left out. */
  payloads: readonly { node: number; payload: Uint8Array }[];
}

/** Reference to a record that is durable. */
export interface DurableStep extends Token {
  number: number;
}
