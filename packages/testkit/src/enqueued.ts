import { isFinal } from "@mainspring/server/testing";
import type { ExecutionRow } from "../store/execution-row.ts";
import type { StoreData } from "../store/store-data.ts";

/** An execution that waits. */
export interface Enqueued<P = unknown> {
  jobId: string;
  executionId: string;
  payload: P;
  pool: string;
  /** 0 to 9 */
  priority: number;
  /** When it may start; in the past where it waits for a worker or a limit. */
  dueAt: Date;
  /** Attempts that failed or timed out so far. */
  failures: number;
  labels: Readonly<Record<string, string>>;
}

export function enqueuedOf<P>(data: StoreData, handler: string, runs: (id: string) => boolean): Enqueued<P>[] {
  const waiting = [...data.executions.all()].filter(
    ({ id, state, job }) => job.definition.handler === handler && !isFinal(state) && !runs(id),
  );
  return waiting.map((row) => enqueued<P>(row));
}

function enqueued<P>({ id, job, dueAt, failures }: ExecutionRow): Enqueued<P> {
  const { pool, priority, labels } = job.definition;
  const payload = job.payload === null ? undefined : JSON.parse(Buffer.from(job.payload).toString());
  return { jobId: job.jobId, executionId: id, payload, pool, priority, dueAt: new Date(dueAt), failures, labels };
}
