import type { NodeOfRun } from "../history/workflow-events.ts";

/** Payload of every job, with the work of its handler. */
export interface Work {
  /** Unique name of the job. */
  key: string;
  workMs: number;
  /** Work time before any failure, in place of `workMs`, in milliseconds. */
  firstWorkMs?: number;
  /** Number of attempts that fail before one succeeds. */
  failTimes?: number;
  /** Whether it fails in a way that must not be retried. */
  hopeless?: boolean;
  /** Whether it stops when its signal aborts; other handlers go on, as handlers do that ignore the signal. */
  obeys?: boolean;
  filler?: string;
  /** Durable steps that the handler goes through before its result; left out: none. */
  walk?: WalkPlan;
  /** Node of a workflow that the handler runs; left out: none. */
  node?: NodeOfRun;
  /**
   * Results of other nodes (`from`) or the input (`$input`), and the parts of them at `executionId`: references, in whose
   * place the server puts values.
   */
  given?: { from: string; result: unknown; executionId: unknown }[];
}

/** Steps of a handler; durations are in milliseconds. */
export interface WalkPlan {
  /** Duration of each effect. */
  effectMs: number;
  sleepMs: number;
  /** Duration of the first wait for the answer, which may end in vain. */
  answerWithinMs: number;
  /** Number of attempts that fail on their way through the steps. */
  failTimes: number;
}

/**
 * Result of every handler. It names the attempt that created it, so that a stale result can be distinguished from the
 * right one.
 */
export interface Made {
  key: string;
  executionId: string;
  attempt: number;
  pid: number;
  filler?: string;
  /** Values that the durable steps returned, sorted. */
  known?: string[];
}
