import type { EpochMs, ExecutionId } from "../domain/ids.ts";

/** Progress or a log line of a running handler. It can be lost, and no decision depends on it. */
export type HandlerOutput = Progress | LogLine;

interface OutputItem {
  executionId: ExecutionId;
  attempt: number;
  /** Number of the item. Grows within an execution, over its attempts and, roughly, over gateways. */
  seq: number;
  at: EpochMs;
  /** Tenant that owns the worker's pool. Its executions alone have the item. Left out: the worker serves all tenants. */
  tenant?: string;
}

export interface Progress extends OutputItem {
  kind: "PROGRESS";
  /** Share of the work that is done, 0 to 1. */
  fraction: number;
  message: string;
}

export interface LogLine extends OutputItem {
  kind: "LOG";
  level: string;
  line: string;
}
