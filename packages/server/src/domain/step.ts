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

/** Waits of an attempt that suspended, as one: the end of the first of them, and whether a signal ends one earlier. */
export interface Suspension {
  until: EpochMs;
  awaitsSignal: boolean;
}

/** The first wait to end. An attempt that reached no wait runs again at once. */
export function suspensionOf(waits: readonly StepWait[], endedAt: EpochMs): Suspension {
  const [first, ...others] = waits.map(({ until }) => until);
  return {
    until: Math.min(first ?? endedAt, ...others),
    awaitsSignal: waits.some(({ signals }) => signals.length > 0),
  };
}

/** Data of a WAIT record. The text is ASCII, so that no encoder is needed. */
export function waitData({ until, signals }: StepWait): Uint8Array {
  const text = JSON.stringify({ until, signals });
  const ascii = text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return Uint8Array.from(ascii, (letter) => letter.charCodeAt(0));
}

/** The wait of a WAIT record. */
export function waitOf({ data }: Pick<RecordedStep, "data">): StepWait {
  let text = "";
  for (const code of data ?? []) text += String.fromCharCode(code);
  return JSON.parse(text) as StepWait;
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
