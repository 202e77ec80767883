import type {
  Incarnation,
  Store,
  StoreDeadLetters,
  StoreJobs,
  StoreQueries,
  StoreRecurrences,
  StoreTimeZones,
} from "@mainspring/server/testing";

/** Operations of the store that a node can call, by the names of the port. */
export type StoreOperation =
  | Exclude<keyof Store, "queries" | "jobs" | "recurrences" | "deadLetters" | "timeZones" | "close">
  | keyof StoreQueries
  | keyof StoreJobs
  | keyof StoreRecurrences
  | keyof StoreDeadLetters
  | keyof StoreTimeZones;

/** A request as the network sees it. */
export interface StoreCall {
  node: Incarnation;
  operation: StoreOperation;
}

/**
 * Course of one call, decided when it is sent. Two delays and a time-out tell every fault there is:
 * - down, or lost on the way there: no effect, so the caller gives up;
 * - done but the answer lost: an effect, no answer;
 * - late: an effect after the caller has given up, unless a takeover shuts it out before.
 */
export interface Fate {
  /** From the call to its effect, in milliseconds; null: it never arrives. */
  effectAfterMs: number | null;
  /** From the effect to the answer's arrival, in milliseconds; null: the answer is lost. */
  answerAfterMs: number | null;
  /** From the call until the caller gives up waiting, in milliseconds. */
  givesUpAfterMs: number;
}

/** Asked once for every call. */
export type Latency = (call: StoreCall) => Fate;

/** A fault that has come about, told when it did. */
export interface StoreSighting extends StoreCall {
  /**
   * - NEVER_ARRIVED: the caller gave up on something that never reached the store
   * - ANSWER_LOST: the caller gave up on something that was done
   * - LATE_EFFECT: something was done after its caller had given up
   * - SHUT_OUT: a takeover ended it before it was done
   */
  kind: "NEVER_ARRIVED" | "ANSWER_LOST" | "LATE_EFFECT" | "SHUT_OUT";
}

/** Whether the caller gets an answer before it gives up. */
export function isAnswered({ effectAfterMs, answerAfterMs, givesUpAfterMs }: Fate): boolean {
  return effectAfterMs !== null && answerAfterMs !== null && effectAfterMs + answerAfterMs <= givesUpAfterMs;
}
