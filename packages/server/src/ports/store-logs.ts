import type { ExecutionId } from "../domain/ids.ts";
import type { KeptLine } from "../domain/log-lines.ts";

/** Lines of an attempt that one gateway received, in their order. An attempt whose worker changed its gateway has several. */
export interface LogPart {
  executionId: ExecutionId;
  attempt: number;
  /** Number of the part, which grows with the time of its first line. */
  part: number;
  /** The last lines of the part. */
  lines: readonly KeptLine[];
  /** Number of all lines that the gateway received for the part, including those before `lines`. */
  received: number;
  /** Tenant that owns the pool of the worker, which can name any execution. Left out: the worker serves all tenants. */
  tenant?: string;
}

/** Log lines of attempts. They are deleted together with their execution. */
export interface StoreLogs {
  /**
   * Keeps parts, each in place of what is kept of it, unless that has as many lines received or more. So a repeated write
   * changes nothing, and a late one undoes nothing. Parts of executions that the store does not have, or that belong to another tenant than the part, are left out. The store
   * keeps the last `PARTS_KEPT_MAX` parts of an attempt.
   * @param parts each (execution, attempt, part) once
   */
  keep(parts: readonly LogPart[]): Promise<void>;
  /** Parts of an attempt, in the order of their numbers. */
  read(executionId: ExecutionId, attempt: number): Promise<LogPart[]>;
}

/** Parts of one attempt that a store keeps. */
export const PARTS_KEPT_MAX = 16;
