import type { ExecutionSummaryBody } from "@mainspring/contract";

/** Shapes of answers for which the contract exports a schema and no type. */

export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

export interface ExecutionError {
  name: string;
  message: string;
  stack?: string;
}

export type DeadLetter = ExecutionSummaryBody & { error: ExecutionError | null };

export interface LateJob {
  jobId: string;
  name: string | null;
}

export interface OverdueJobs {
  items: (LateJob & { nextFireAt: string; overdueMs: number })[];
}

export interface NextFires {
  /** Left out by servers of the release before, while a cluster is upgraded. */
  words?: string;
  fires: { at: string; local: string; note?: string }[];
}
