/** The payload of every job: what its handler has to do. */
export interface Work {
  /** Names the job; no two have the same. */
  key: string;
  workMs: number;
  /** Instead of `workMs`, as long as nothing failed yet. */
  firstWorkMs?: number;
  /** How many attempts fail before one succeeds. */
  failTimes?: number;
  /** Fails in a way that must not be retried. */
  hopeless?: boolean;
  /** Stops when its signal says so; the others carry on regardless, as handlers do that nobody taught to stop. */
  obeys?: boolean;
  filler?: string;
}

/**
 * Result of every handler. It names the attempt that made it, so that a stale result can be told from the right one.
 */
export interface Made {
  key: string;
  executionId: string;
  attempt: number;
  pid: number;
  filler?: string;
}
