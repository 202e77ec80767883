import type { Priority, RetryPolicy } from "./api-types.ts";

/** Policies that a task declares for jobs of its handler. */
export interface HandlerPolicies {
  /** Retries after failures. */
  retryPolicy?: RetryPolicy;
  /** Hard limit of one attempt, in seconds. */
  timeoutSec?: number;
  /** Longest time from the due time of an execution to its end, over all attempts, in seconds. */
  maxLifetimeSec?: number;
  /** How long a cancelled handler may take to stop, in seconds. */
  cancelGraceSec?: number;
  /** How many times its worker may be lost. */
  maxLost?: number;
  /** Consequence of a lost worker. */
  onWorkerLost?: "RETRY" | "DEAD";
  /** 0 to 9, or a name. */
  priority?: Priority;
  /** May have placeholders such as {payload.customerId}. */
  concurrencyKey?: string;
  /** Executions of one key that run at once. */
  concurrencyLimit?: number;
  /** May have placeholders such as {payload.customerId}. */
  uniqueKey?: string;
}

/** A handler of a pool: what its task declares, and who offers it. */
export interface Handler {
  /** Pool of the workers. */
  pool: string;
  /** Name of the handler. */
  handler: string;
  /** Declarations of its task; a field that is left out has the server's default. */
  policies: HandlerPolicies;
  /** Whether jobs of the handler that name no pool go to this pool. */
  home: boolean;
  /** Workers that offer it now. */
  workers: number;
  /** Other declarations of workers that offer it now; jobs do not go by them. */
  contradictions: {
    /** Declarations of these workers. */
    policies: HandlerPolicies;
    /** Whether they declare the pool to be that of the handler. */
    home: boolean;
    /** Workers that declare this. */
    workers: number;
  }[];
  /** When its policies were changed last; null: none are kept. */
  declaredAt: string | null;
  /** When a worker with policies for it was seen last, to the hour; null: no worker ever declared any. */
  lastSeenAt: string | null;
}

export interface HandlerFilter {
  /** Only handlers of this pool. */
  pool?: string;
  /** Only handlers of this name. */
  handler?: string;
  /** How many are read at once; 1 to 200, default 50. */
  limit?: number;
}
