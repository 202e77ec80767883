import type { ExecutionRow, StoreData } from "@mainspring/server/parts";
import { isFinal, submittedText } from "@mainspring/server/parts";

/** An execution that waits to run. */
export interface Enqueued<P = unknown> {
  jobId: string;
  executionId: string;
  /** Payload as submitted; that of a node of a workflow with its references. */
  payload: P;
  pool: string;
  /** Priority of the execution, 0 to 9. */
  priority: number;
  /** Earliest start; lies in the past if the execution waits for a worker or a limit. */
  dueAt: Date;
  /** Number of attempts that have failed or timed out. */
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
  const payload = job.payload === null ? undefined : JSON.parse(Buffer.from(submittedText(job.payload)).toString());
  return { jobId: job.jobId, executionId: id, payload, pool, priority, dueAt: new Date(dueAt), failures, labels };
}
