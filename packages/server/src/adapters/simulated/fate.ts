import type { Incarnation } from "../../domain/ids.ts";
import type { Store } from "../../ports/store.ts";
import type { StoreAudit } from "../../ports/store-audit.ts";
import type { StoreDeadLetters } from "../../ports/store-dead-letters.ts";
import type { StoreEventSinks } from "../../ports/store-event-sinks.ts";
import type { StoreEvents } from "../../ports/store-events.ts";
import type { StoreExecutionRuns } from "../../ports/store-execution-runs.ts";
import type { StoreHandlers } from "../../ports/store-handlers.ts";
import type { StoreIngest } from "../../ports/store-ingest.ts";
import type { StoreJobs } from "../../ports/store-jobs.ts";
import type { StoreKeys } from "../../ports/store-keys.ts";
import type { StoreLogs } from "../../ports/store-logs.ts";
import type { StoreQueries } from "../../ports/store-queries.ts";
import type { StoreQuotas } from "../../ports/store-quotas.ts";
import type { StoreRecurrences } from "../../ports/store-recurrences.ts";
import type { StoreRequests } from "../../ports/store-requests.ts";
import type { StoreRuns } from "../../ports/store-runs.ts";
import type { StoreSteps } from "../../ports/store-steps.ts";
import type { StoreTenants } from "../../ports/store-tenants.ts";
import type { StoreTimeZones } from "../../ports/store-time-zones.ts";
import type { StoreWebhooks } from "../../ports/store-webhooks.ts";

/** Operations of the store that a node can call, by their names in the port. */
export type StoreOperation =
  | Exclude<
      keyof Store,
      | "queries"
      | "jobs"
      | "recurrences"
      | "runs"
      | "deadLetters"
      | "executionRuns"
      | "timeZones"
      | "handlers"
      | "logs"
      | "steps"
      | "events"
      | "eventSinks"
      | "webhooks"
      | "keys"
      | "audit"
      | "tenants"
      | "quotas"
      | "requests"
      | "ingest"
      | "close"
    >
  | keyof StoreAudit
  | keyof StoreQueries
  | keyof StoreJobs
  | keyof StoreRecurrences
  | keyof StoreRuns
  | keyof StoreDeadLetters
  | keyof StoreExecutionRuns
  | keyof StoreTimeZones
  | keyof StoreHandlers
  | keyof StoreLogs
  | keyof StoreSteps
  | keyof StoreEvents
  | keyof StoreEventSinks
  | keyof StoreWebhooks
  | keyof StoreRequests
  | keyof StoreIngest
  | keyof StoreKeys
  | keyof StoreTenants
  | keyof StoreQuotas
  | "claimRequests";

/** A request to the simulated store. */
export interface StoreCall {
  node: Incarnation;
  operation: StoreOperation;
}

/**
 * Course of one call, decided when it is sent. Two delays and a timeout describe every fault:
 * - down, or lost on the way: no effect, so the caller gives up;
 * - answer lost: an effect, no answer;
 * - late: an effect after the caller has given up, unless a takeover shuts it out before.
 */
export interface Fate {
  /** Time from the call to its effect, in milliseconds; null: the call never arrives. */
  effectAfterMs: number | null;
  /** Time from the effect to the arrival of the answer, in milliseconds; null: the answer is lost. */
  answerAfterMs: number | null;
  /** Time from the call until the caller gives up, in milliseconds. */
  givesUpAfterMs: number;
}

/** Chooses the fate of a call; called once for every call. */
export type Latency = (call: StoreCall) => Fate;

/** A fault of a call, reported when it happens. */
export interface StoreFault extends StoreCall {
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
